# cython: language_level=3
"""Rows of a matrix of which only some are in memory."""

from margins._sparse cimport Rows


cdef class HeldRows(Rows):
    cdef object _numbers   # those of the rows that are held; None: there are none
    cdef object _zeros     # a zero row
    cdef dict _tables      # where each row is, in arrays of all rows: by name
