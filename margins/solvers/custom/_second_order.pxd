"""The second-order perceptron's loop."""

from margins._update cimport SampleLoop


cdef class SecondOrderLoop(SampleLoop):
    cdef double[:, ::1] T
    cdef double[::1] w, v, alpha
    cdef double[::1] f, r               # T x_k and P x_k
    cdef readonly Py_ssize_t n_mistakes
    cdef readonly double dual_sum, slack_sqnorm   # total weight of the mistakes; contribution of slack terms to |v|^2
