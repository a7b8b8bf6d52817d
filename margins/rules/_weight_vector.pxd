from margins._limits cimport MAX_SCALE, MIN_SCALE
from margins._sparse cimport axpy, dot, margins_prefetch, prefetch
from margins.data._binary_data cimport BinaryData
from margins.rules._state cimport Sample, State, Step, Thresholds, advance


cdef class WeightVector:
    cdef State state
    cdef double[::1] v
    cdef double[::1] beta                   # alpha_k = scale * beta_k; None: not kept
    cdef double unscaled_centre             # scale * unscaled_centre is label_sum at alpha = 0; see `recentre`


cdef void normalise(WeightVector a) noexcept nogil
cdef void apply_decay(WeightVector a, double factor) noexcept nogil


cdef inline void prefetch_sample(BinaryData data, WeightVector a, Py_ssize_t k) noexcept nogil:
    """Prefetch the memory that the product with sample k, and an update by it, would wait for longest."""
    prefetch(data.rows, k)
    margins_prefetch(&data.sqnorms[k])
    if a.beta is not None:
        margins_prefetch(&a.beta[k])


cdef inline double ordinary_product(BinaryData data, WeightVector a, Py_ssize_t k) noexcept nogil:
    """Return a.y_k without the slack term."""
    return a.state.scale * data.labels[k] * (dot(data.rows, k, &a.v[0]) + data.sq_intercept_scaling * a.state.label_sum)


cdef inline double product(BinaryData data, WeightVector a, Py_ssize_t k) noexcept nogil:
    """Return p = a.y_k, including the slack term."""
    cdef double p = dot(data.rows, k, &a.v[0]) + data.sq_intercept_scaling * a.state.label_sum
    p = data.labels[k] * p
    if a.beta is not None:
        p += data.diag[k] * a.beta[k]
    return a.state.scale * p


cdef inline double weight_of(BinaryData data, Py_ssize_t k) noexcept nogil:
    return 1 if data.weight is None else data.weight[k]


cdef inline void describe_sample(
    BinaryData data, WeightVector a, Py_ssize_t k, double p, const Thresholds* thresholds, Sample* out
) noexcept nogil:
    """Fill in what the rules read of sample k, given its product p and the thresholds."""
    out.k = k
    out.positive = data.labels[k] > 0
    out.product = p
    out.sqnorm = data.sqnorms[k] + data.diag[k]
    out.upper = data.upper[k]
    out.threshold = thresholds.learn[out.positive]
    out.dual = a.state.scale * a.beta[k] if a.beta is not None else 0
    out.weight = weight_of(data, k)


cdef inline void keep_scale_in_range(WeightVector a) noexcept nogil:
    """Reset scale to 1 before it leaves the range of a double; after a shrink to 0, v becomes 0."""
    if not MIN_SCALE <= a.state.scale <= MAX_SCALE:
        normalise(a)


cdef inline void apply_step(BinaryData data, WeightVector a, const Sample* sample, const Step* step) noexcept nogil:
    """Apply a <- s a + c y_k."""
    cdef double c
    advance(&a.state, step, step.add, sample.product, sample.sqnorm)
    a.state.scale *= step.shrink
    keep_scale_in_range(a)
    c = step.add / a.state.scale
    if a.beta is not None:
        a.beta[sample.k] += c
    c = c * data.labels[sample.k]
    axpy(data.rows, sample.k, c, &a.v[0])
    a.state.label_sum += c
