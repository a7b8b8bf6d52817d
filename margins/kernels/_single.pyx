"""Makes a symmetric matrix in single precision from its blocks in double precision."""

cdef Py_ssize_t TILE = 32   # rows and columns that are mirrored at once: they stay in the cache


def place(const double[:, :] block, float[:, ::1] matrix, Py_ssize_t row, Py_ssize_t column):
    """Write a block to a matrix at (row, column), and its transpose to the mirrored place."""
    cdef Py_ssize_t i, j, left, top = 0, n_rows = block.shape[0], n_columns = block.shape[1]
    if row + n_rows > matrix.shape[0] or column + n_columns > matrix.shape[1] or row < 0 or column < 0:
        raise ValueError(
            f"A block of shape {(n_rows, n_columns)} must fit into a matrix of shape "
            f"{(matrix.shape[0], matrix.shape[1])}. Got the place {(row, column)}."
        )
    with nogil:
        for i in range(n_rows):
            for j in range(n_columns):
                matrix[row + i, column + j] = <float> block[i, j]
        while row != column and top < n_rows:
            left = 0
            while left < n_columns:
                for j in range(left, min(left + TILE, n_columns)):
                    for i in range(top, min(top + TILE, n_rows)):
                        matrix[column + j, row + i] = matrix[row + i, column + j]
                left += TILE
            top += TILE
