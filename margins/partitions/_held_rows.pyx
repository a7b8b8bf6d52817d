"""Matrix rows of which only some are in memory, each under its number among all rows.

The kernels read row k of a matrix through `Rows`, so a binary problem over rows that come and go keeps its
labels, dual variables and orders as they are. A row that is not held reads as a zero row or as another row
that is held. This is memory-safe, but only rows that are held may be processed.
"""

import numpy as np

cdef class HeldRows(Rows):
    """Rows, none of which is held at first; all together store `n_stored` numbers."""

    def __init__(self, Py_ssize_t n_rows, Py_ssize_t n_features, Py_ssize_t n_stored):
        self._zeros, self._tables, self._numbers = np.zeros(n_features), {}, None
        Rows.__init__(self, self._zeros, 0, n_features)
        self.n_rows, self.n_of_part = n_rows, n_stored
        self.release()

    def hold(self, Rows rows not None, numbers, places=None):
        """Hold rows of a matrix, and no others."""
        self.release()
        places = slice(0, rows.n_rows) if places is None else places
        self._numbers = numbers
        self.values64, self.values32 = rows.values64, rows.values32
        self.row_step, self.column_step = rows.row_step, rows.column_step
        self.n_dense_row, self.prefetch_step = rows.n_dense_row, rows.prefetch_step
        if rows.starts32 is not None:
            starts, ends = np.asarray(rows.starts32)[:rows.n_rows], np.asarray(rows.ends32)
            self.starts32 = self._filled("starts32", starts[places])
            self.ends32 = self._filled("ends32", ends[places])
        elif rows.starts64 is not None:
            starts, ends = np.asarray(rows.starts64)[:rows.n_rows], np.asarray(rows.ends64)
            self.starts64 = self._filled("starts64", starts[places])
            self.ends64 = self._filled("ends64", ends[places])
        else:
            all_places = np.arange(rows.n_rows) if rows.chosen is None else np.asarray(rows.chosen)
            self.chosen = self._filled("places", all_places[places])
        # These come last: until they are set, no row is read from the arrays above.
        self.columns32, self.columns64 = rows.columns32, rows.columns64

    def release(self):
        """Release all rows, and every reference to their arrays."""
        self.columns32 = self.columns64 = self.values32 = None
        self.values64 = self._zeros
        self.starts32 = self.ends32 = None
        self.starts64 = self.ends64 = self.chosen = None
        self.row_step, self.column_step, self.n_dense_row = 0, 1, -1
        if self._numbers is not None:
            for table in self._tables.values():
                table[self._numbers] = 0
            self._numbers = None

    def _filled(self, name, values):
        """Return a table over all rows with these values for the rows that are held, and 0 elsewhere."""
        table = self._tables.get(name)
        if table is None:
            # The operating system allocates only pages that are written, so a large table of few rows is cheap.
            table = self._tables[name] = np.zeros(self.n_rows, dtype=values.dtype)
        table[self._numbers] = values
        return table
