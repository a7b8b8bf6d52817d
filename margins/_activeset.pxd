from libc.stdint cimport int32_t
from margins._update cimport Membership, SampleLoop, epoch_t


cdef class ActiveSets(SampleLoop):
    cdef readonly tuple levels
    cdef Py_ssize_t n_levels
    cdef Membership* memberships
    cdef Py_ssize_t* passes
    cdef int32_t[:, ::1] members
    cdef Py_ssize_t n_kept   # members of level 0 after the last full pass
    # During a pass: the level that it builds, 0 for the full pass, and its loops.
    cdef Py_ssize_t level
    cdef epoch_t epoch_of_all, epoch_of_members
    cdef int process_active_sets(self, Py_ssize_t level, Py_ssize_t n) except -1
