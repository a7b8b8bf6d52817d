"""The columns of a weight matrix, each for one or several models that are trained in lockstep.

Models that differ only in bound_i are equal until a bound is reached. They share a column, which is split
when a sample that was added as often as the smallest bound allows is misclassified again. The last column
replaces the column of a finished model.
"""

from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.math cimport INFINITY
from libc.stdint cimport int64_t
from margins._sparse cimport Rows
from margins._update cimport Averaging, BinaryData, SampleLoop, WeightVector

import copy

import numpy as np

from margins.rules import LongestSurvivor


cdef class ModelColumns(SampleLoop):
    """The columns of models that are trained on the same samples in the same order.

    rows: not the rows of a kernel.
    codes, shape (m,): the class of every sample, a whole number.
    sqnorms, shape (m,): |x_k|^2.
    models: each with attributes `parameters` (with `code`, its positive class; `sq_intercept_scaling`, rho^2;
        `negative` and `positive`, the thresholds of either label; `gain`; `max_iter`), `bound` (inf: none),
        `child` (index of the model that differs only in having the next larger bound, or -1), `has_parent`
        (True for the child of a model), `data` (the binary problem) and `averagings` (names to Averaging; a
        child gets copies when its column is split off).
    n_columns: number of columns in use; models in training that share a column count once.
    """

    def __cinit__(self, Rows rows not None, codes, sqnorms, models):
        cdef Py_ssize_t i, j, width = padded(len(models)), d = rows.n_features
        self.rows, self.codes, self.sqnorms = rows, codes, sqnorms
        self.weight = (<BinaryData?> models[0].data).weight  # the same for all models
        self.v = np.zeros((d, width))
        self.label_sum, self.sq_intercept_scaling, self.code, self.gain = np.zeros((4, width))
        self.negative, self.positive = np.full((2, width), -INFINITY)
        self.dots, self.c = np.zeros((2, width))
        self.wrong = np.zeros(width, dtype=np.int64)
        self.model = np.zeros(width, dtype=np.intp)
        self.has_gain = any(model.parameters.gain > 0 for model in models)
        self.counts = None
        if self.has_gain or any(model.bound < INFINITY for model in models):
            self.counts = np.zeros((rows.n_rows, width), dtype=np.int32)
        self.longest = max(rows.longest(), 1)
        self.values = np.ones(d)  # the values of CSR rows that store none
        self.offsets = np.arange(d, dtype=np.intp) * width  # the offsets of every dense row
        self.hypothesis = WeightVector(d)

        self.child = np.array([model.child for model in models], dtype=np.intp)
        self.bound = np.array([model.bound for model in models], dtype=np.float64)
        self.max_iter = np.array([model.parameters.max_iter for model in models], dtype=np.float64)
        self.n_updates, self.n_updates_before = np.zeros((2, len(models)), dtype=np.int64)
        self.rejected, self.rejected_before = np.zeros((2, len(models)), dtype=np.int64)
        self.since, self.rejected_since = np.zeros((2, len(models)), dtype=np.int64)
        self.seen, self.seen_before, self.right, self.right_before = np.zeros((4, len(models)))
        self.problems = [model.data for model in models]
        self.averagings = [{} for _model in models]
        self.n_averagings = max(len(model.averagings) for model in models)
        self.data_of = <void**> PyMem_Calloc(len(models), sizeof(void*))
        self.averaging_of = <void**> PyMem_Calloc(max(len(models) * self.n_averagings, 1), sizeof(void*))
        self.is_survivor = np.zeros(len(models) * self.n_averagings, dtype=np.int8)
        if self.data_of == NULL or self.averaging_of == NULL:
            raise MemoryError
        for i, model in enumerate(models):
            self.data_of[i] = <void*> <BinaryData?> model.data
            if not model.has_parent:
                j = self.n_columns
                self.n_columns += 1
                self.model[j] = i
                self._set_averagings(i, model.averagings)
                self._set_parameters(j, model.parameters)

    def __dealloc__(self):
        PyMem_Free(self.data_of)
        PyMem_Free(self.averaging_of)

    def _set_parameters(self, Py_ssize_t column, parameters):
        self.code[column], self.sq_intercept_scaling[column] = parameters.code, parameters.sq_intercept_scaling
        self.negative[column], self.positive[column] = parameters.negative, parameters.positive
        self.gain[column] = parameters.gain

    def _set_averagings(self, Py_ssize_t model, dict averagings):
        """Set the averagings of a model."""
        cdef Py_ssize_t j
        self.averagings[model] = averagings
        for j, averaging in enumerate(averagings.values()):
            self.averaging_of[model * self.n_averagings + j] = <void*> <Averaging?> averaging
            self.is_survivor[model * self.n_averagings + j] = isinstance(averaging, LongestSurvivor)

    cdef void _count(self, Py_ssize_t i, Averaging averaging, bint processing) noexcept nogil:
        """Set in an averaging of model i the number of samples that its current hypothesis processed.

        With `processing`, the current sample counts, which the hypothesis misclassifies.
        """
        cdef int64_t n_samples = self.n_processed - self.since[i]
        if self.weight is not None:
            averaging.n_accesses, averaging.n_right = self.seen[i], self.right[i]
            return
        averaging.n_accesses = n_samples + processing
        averaging.n_right = n_samples - (self.rejected[i] - self.rejected_since[i])

    cdef void _gather(self, Py_ssize_t column, WeightVector a) noexcept nogil:
        """Copy the weights of a column to `a`."""
        cdef Py_ssize_t j
        for j in range(self.v.shape[0]):
            a.v[j] = self.v[j, column]
        a.state.label_sum = self.label_sum[column]
        a.state.n_updates = a.state.t = a.state.dual_sum = self.n_updates[self.model[column]]

    cdef void _copy_column(self, Py_ssize_t column, Py_ssize_t to) noexcept nogil:
        """Copy a column to an idle column."""
        cdef Py_ssize_t j
        for j in range(self.v.shape[0]):
            self.v[j, to] = self.v[j, column]
        if self.counts is not None:
            for j in range(self.counts.shape[0]):
                self.counts[j, to] = self.counts[j, column]
        self.label_sum[to], self.sq_intercept_scaling[to], self.gain[to] = (
            self.label_sum[column], self.sq_intercept_scaling[column], self.gain[column]
        )
        self.code[to], self.negative[to], self.positive[to] = (
            self.code[column], self.negative[column], self.positive[column]
        )
        self.model[to] = self.model[column]
        self.wrong[to] = self.wrong[column]

    cdef int _split(self, Py_ssize_t column) except -1:
        """Move the child of a column's model, and the child's children, to a new column."""
        cdef Py_ssize_t i = self.model[column], j = self.child[i]
        self._copy_column(column, self.n_columns)
        self.model[self.n_columns] = j
        self.n_columns += 1
        self.child[i] = -1
        self.n_updates[j] = self.n_updates[i]
        self.since[j] = self.since[i]  # the child has not rejected samples yet
        self.seen[j], self.right[j] = self.seen[i], self.right[i]
        self.seen_before[j], self.right_before[j] = self.seen_before[i], self.right_before[i]
        averagings = copy.deepcopy(self.averagings[i])
        for averaging in averagings.values():
            averaging.reserve(SAMPLES_PER_CHUNK)
        self._set_averagings(j, averagings)
        return 0

    def finish(self, Py_ssize_t model, int64_t n_epochs_left):
        """Remove the column of a model, which other models may share."""
        cdef Py_ssize_t column = 0, last = self.n_columns - 1
        cdef double rejected = self.rejected[model] - self.rejected_before[model]
        cdef double m = self.rows.n_rows
        cdef Py_ssize_t i
        cdef Averaging averaging
        while self.model[column] != model:
            column += 1
        weights = WeightVector(self.v.shape[0])
        self._gather(column, weights)
        for averaging in self.averagings[model].values():
            self._count(model, averaging, False)
            if self.weight is None:
                averaging.n_accesses += n_epochs_left * m
                averaging.n_right += n_epochs_left * (m - rejected)
            else:
                averaging.n_accesses += n_epochs_left * (self.seen[model] - self.seen_before[model])
                averaging.n_right += n_epochs_left * (self.right[model] - self.right_before[model])
        if column != last:
            self._copy_column(last, column)
        self.negative[last] = self.positive[last] = -INFINITY  # its products are not used
        self.n_columns = last
        models = []
        i = model
        while i >= 0:
            models.append(i)
            i = self.child[i]
        return weights, self.averagings[model], self.n_updates[model], models
