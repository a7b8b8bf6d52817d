from margins._sparse cimport Rows


cdef class HeldRows(Rows):
    cdef object _numbers   # numbers of the rows that are held; None: no rows
    cdef object _zeros     # a zero row
    cdef dict _tables      # positions of rows in the stored arrays, by name; arrays over all rows
