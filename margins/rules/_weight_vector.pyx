"""The weight vector of a run, and its updates.

    a        = scale * (v, rho label_sum, beta)   lazily scaled: a shrink is one multiplication
    |a|^2    <- s^2 |a|^2 + 2 s c p + c^2 N_k     recomputed by `WeightVector.recompute`
    S        <- s S + c                           the sum of all alpha_k

label_sum = sum_k alpha_k l_k + centre, where the centre is 0 unless the intercept is free.

alpha_k = scale * beta_k is the dual variable of sample k. The slack feature of a sample has the weight
Delta_k alpha_k. It is never stored: it adds D_k alpha_k to a.y_k, with D_k = Delta_k^2.
"""

from libc.math cimport sqrt
from margins._sparse cimport axpy
from margins.data._binary_data cimport BinaryData
from margins.linalg._sums cimport dot_of
from margins.rules._state cimport State

import numpy as np

from margins.linalg.threads import share_rows


cdef class WeightVector:
    """The weight vector of one run: a = scale * (v, rho label_sum, beta), starting at 0.

    Parameters
    ----------
    n_features : int
        Number of features of the rows. For rows of a kernel matrix, v holds the products with all samples.
    n_samples : int
        Number of dual variables, or 0 if they are not kept.
    """

    def __init__(self, Py_ssize_t n_features, Py_ssize_t n_samples=0):
        self.v = np.zeros(n_features)
        self.beta = np.zeros(n_samples) if n_samples else None
        self.state.scale = 1

    def __reduce__(self):
        beta = None if self.beta is None else np.asarray(self.beta)
        return _restore, (np.asarray(self.v), beta, self.state, self.unscaled_centre)

    def __getstate__(self):
        # Formats that do not call `__reduce__` would drop the arrays, which leaves an invalid weight vector.
        raise TypeError(
            "A WeightVector, part of a classifier between two calls of partial_fit, can be pickled and not "
            "written otherwise. margins.persistence.dump leaves it out."
        )

    def copy(self) -> WeightVector:
        """Return an equal weight vector that shares no array with this one."""
        beta = None if self.beta is None else np.array(self.beta)
        return _restore(np.array(self.v), beta, self.state, self.unscaled_centre)

    def without_dual(self) -> WeightVector:
        """Return a copy without dual variables, for samples that are each accessed once."""
        return _restore(np.array(self.v), None, self.state, self.unscaled_centre)

    def over(self, BinaryData data not None) -> WeightVector:
        """Return a new weight vector with the same dual variables, over the same samples in another matrix."""
        result = _restore(np.zeros(data.rows.n_features), np.array(self.beta), self.state, self.unscaled_centre)
        result.recompute_sum(data)
        return result

    def clear(self) -> None:
        """Set a to 0 and reset the update counter t; `n_updates` stays."""
        cdef State start
        self.v[:] = 0
        if self.beta is not None:
            self.beta[:] = 0
        start.scale = 1
        start.label_sum = start.sqnorm = start.dual_sum = start.t = 0
        start.n_updates = self.state.n_updates
        self.state, self.unscaled_centre = start, 0

    def assign(self, BinaryData data not None, const double[::1] dual not None,
               const double[::1] combination=None) -> None:
        """Set alpha >= 0, and a to their sum, as one update by all samples.

        combination: sum_k alpha_k y_k, if it is known, shape (n_features,), or one more for an augmentation.
        """
        cdef Py_ssize_t d = self.v.shape[0], least = d + (data.sq_intercept_scaling > 0)
        if combination is not None and combination.shape[0] < least:
            raise ValueError(f"The sum of the samples must have {least} elements. Got {combination.shape[0]}.")
        self.beta[:] = dual
        self.state.scale = 1
        self.state.t += 1
        self.state.n_updates += 1
        self.unscaled_centre = 0
        if combination is None:
            self.recompute_sum(data)
            return
        self.v[:] = combination[:d]
        self.state.label_sum = combination[d] / sqrt(data.sq_intercept_scaling) if data.sq_intercept_scaling > 0 else 0
        self.recompute(data)

    def recentre(self, BinaryData data not None, const double[::1] dual not None, double shift=0.0) -> None:
        """Set alpha >= 0, and a centre that keeps the bias, or moves it by rho^2 `shift`.

        An update minimises ``|w|^2 / 2 + (bias - rho^2 centre)^2 / (2 rho^2)`` plus the losses. So to free the
        bias, it is penalised relative to its present value: the proximal point method.
        """
        cdef double label_sum = self.state.scale * self.state.label_sum + shift
        self.assign(data, dual)
        self.unscaled_centre = label_sum - self.state.label_sum
        self.state.label_sum = label_sum
        self.recompute(data)

    def recompute_sum(self, BinaryData data not None) -> None:
        """Recompute a = sum_k alpha_k y_k, without the rounding errors of the updates so far.

        Over a kernel, this needs the rows of all samples with a non-zero dual variable.
        """
        cdef Py_ssize_t k, begin, end
        cdef double c, label_sum = self.unscaled_centre
        self.v[:] = 0
        for begin, end in data.rows.parts():
            with nogil:
                for k in range(begin, end):
                    c = self.beta[k] * data.labels[k]
                    if c != 0:
                        axpy(data.rows, k, c, &self.v[0])
                        label_sum += c
        self.state.label_sum = label_sum
        data.rows.check()
        self.recompute(data)

    def for_new_samples(self, Py_ssize_t n_samples) -> WeightVector:
        """Return the same weight vector for other samples, whose dual variables are 0.

        It shares the array of weights with this vector, which must not be used afterwards.
        """
        beta = None if self.beta is None else np.zeros(n_samples)
        return _restore(np.asarray(self.v), beta, self.state, self.unscaled_centre)

    def check_fit(self, BinaryData data not None) -> None:
        """Raise ValueError unless the numbers of features and dual variables match these samples."""
        if self.v.shape[0] != data.rows.n_features or (
            self.beta is not None and self.beta.shape[0] != data.labels.shape[0]
        ):
            raise ValueError(
                f"The weight vector must be one of {data.rows.n_features} features and, if it keeps "
                f"dual variables, {data.labels.shape[0]} samples. Got {self.v.shape[0]} features"
                + (f" and {self.beta.shape[0]} samples." if self.beta is not None else ".")
            )

    @property
    def keeps_dual(self) -> bool:
        """True if the dual variables are kept."""
        return self.beta is not None

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weights of the features, an ndarray of float64 of shape (n_features,)."""
        return self.state.scale * np.asarray(self.v)

    @property
    def label_sum(self) -> float:
        """sum_k alpha_k l_k plus the centre; the bias is rho^2 times this."""
        return self.state.scale * self.state.label_sum

    @property
    def centre(self) -> float:
        """The part of `label_sum` that the dual variables do not explain; 0 unless the intercept is free."""
        return self.state.scale * self.unscaled_centre

    @property
    def dual(self) -> NDArray[np.float64] | None:
        """The dual variables alpha, shape (m,), or None if they are not kept."""
        return None if self.beta is None else self.state.scale * np.asarray(self.beta)

    @property
    def sqnorm(self) -> float:
        """|a|^2, including bias and slack terms."""
        return self.state.sqnorm

    @property
    def dual_sum(self) -> float:
        """S, the sum of the dual variables."""
        return self.state.dual_sum

    @property
    def t(self) -> float:
        """The number of updates since the last restart, counting multiplicities."""
        return self.state.t

    @property
    def n_updates(self) -> int:
        """The number of updates since the start, counting multiplicities."""
        return int(self.state.n_updates)

    def rescale(self, double factor) -> None:
        """Multiply a and every dual variable by `factor` > 0."""
        cdef Py_ssize_t j
        for j in range(self.v.shape[0]):
            self.v[j] *= factor
        if self.beta is not None:
            for j in range(self.beta.shape[0]):
                self.beta[j] *= factor
        self.state.label_sum *= factor
        self.unscaled_centre *= factor
        self.state.sqnorm *= factor * factor
        self.state.dual_sum *= factor

    def recompute(self, BinaryData data not None) -> None:
        """Recompute |a|^2, and S if dual variables are kept, because their recursions accumulate rounding."""
        cdef double total = _ordinary_sqnorm(data, self), dual_sum = 0, sqscale
        cdef Py_ssize_t j
        with nogil:
            if self.beta is not None:
                for j in range(self.beta.shape[0]):
                    total += data.diag[j] * self.beta[j] * self.beta[j]
                    dual_sum += self.beta[j]
                self.state.dual_sum = self.state.scale * dual_sum
            sqscale = self.state.scale * self.state.scale
            self.state.sqnorm = max(sqscale * total, 0)

    def ordinary_sqnorm(self, BinaryData data not None) -> float:
        """Return |a|^2 over features and a penalised bias, without the slack terms."""
        cdef double total
        if data.has_free_intercept:
            total = _sqnorm_of_features(data, self)
        else:
            total = _ordinary_sqnorm(data, self)
        return self.state.scale * self.state.scale * max(total, 0)

    def products(self, BinaryData data not None) -> NDArray[np.float64]:
        """Return every a.y_k without its slack term, as an ndarray of float64 of shape (m,)."""
        result = np.empty(len(data))
        for begin, end in data.rows.parts():
            share_rows(data.rows, lambda begin, end: self._set_products(data, begin, end, result), begin, end)
        return result

    def _set_products(self, BinaryData data, Py_ssize_t begin, Py_ssize_t end, double[::1] out):
        cdef Py_ssize_t k
        with nogil:
            for k in range(begin, end):
                out[k] = ordinary_product(data, self, k)


def _restore(v, beta, State state, double centre=0.0):
    cdef WeightVector a = WeightVector.__new__(WeightVector)
    # Read-only arrays are copied: a pickle may be memory-mapped.
    a.v = np.require(v, requirements="W")
    a.beta = None if beta is None else np.require(beta, requirements="W")
    a.state, a.unscaled_centre = state, centre
    return a


cdef double _ordinary_sqnorm(BinaryData data, WeightVector a) noexcept nogil:
    """Return |v|^2 over features and bias, unscaled."""
    return data.sq_intercept_scaling * a.state.label_sum * a.state.label_sum + _sqnorm_of_features(data, a)


cdef double _sqnorm_of_features(BinaryData data, WeightVector a) noexcept nogil:
    """Return |v|^2 over features; over the rows of a kernel, sum_k beta_k y_k.v."""
    cdef double total = 0
    cdef Py_ssize_t j
    if data.rows.is_kernel:
        for j in range(a.beta.shape[0]):
            total += a.beta[j] * data.labels[j] * a.v[j]
    else:
        total += dot_of(&a.v[0], &a.v[0], a.v.shape[0])
    return total


cdef void normalise(WeightVector a) noexcept nogil:
    """Set scale to 1."""
    cdef Py_ssize_t j
    cdef double scale = a.state.scale
    for j in range(a.v.shape[0]):
        a.v[j] *= scale
    if a.beta is not None:
        for j in range(a.beta.shape[0]):
            a.beta[j] *= scale
    a.state.label_sum *= scale
    a.unscaled_centre *= scale
    a.state.scale = 1


cdef void apply_decay(WeightVector a, double factor) noexcept nogil:
    """Apply a <- factor * a, after a sample without an update."""
    a.state.scale *= factor
    a.state.sqnorm *= factor * factor
    a.state.dual_sum *= factor
    a.state.t += 1
    keep_scale_in_range(a)
