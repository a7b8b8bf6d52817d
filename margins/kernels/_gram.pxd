from margins._sparse cimport Rows


cdef class GramRows(Rows):
    cdef const double[::1] diagonal
    cdef Rows matrix
    cdef public object blocks   # the same rows by blocks: margins.kernels.shared_blocks.SharedBlocks, or None
