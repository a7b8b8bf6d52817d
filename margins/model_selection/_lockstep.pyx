"""Many models in one pass: perceptrons that differ in parameters, trained on the same samples.

The problem: models i = 1, 2, ... process the same samples in the same order. They differ in thresholds,
labels (one class against the rest), threshold step, lambda-trick and alpha-bound. Alone, each model does

    p = l (w_i.x_k + rho_i^2 b_i)
    if p + [gain_i |x_k|^2 once i has added k] <= threshold_i(l), and i has added k less than bound_i times:
        w_i <- w_i + c_k l x_k,   b_i <- b_i + c_k l      with c_k the weight of the sample

Together their weights are a matrix of shape (features, columns), with one column for each model: one
traversal of x_k computes all products, and the inner loop is over contiguous memory
(`margins.model_selection._columns`). Every model equals, bit for bit, the model trained alone. Models that
differ only in bound_i are equal until a bound is reached. They share a column, which is split when a sample
that was added as often as the smallest bound allows is misclassified again. The last column replaces the
column of a finished model.

Given: the rows, the parameters of the models, an order for one or more epochs. Left in place: the weights
and the state of the averagings. Returned: the number of epochs and, for each finished model, its weights,
averagings and updates.

Source: Khardon & Wachman (2007), Figure 2. `margins._update.mini_epoch` does the same for one model.
"""

from cpython.exc cimport PyErr_CheckSignals
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from margins._limits cimport PREFETCH_DISTANCE
from margins._sparse cimport Rows, extent, prefetch
from margins._update cimport Averaging, BinaryData, Sample, SampleLoop, Step, Tally, WeightVector
from margins.model_selection._columns cimport add_to_all, compare, compare_with_self_score, products_with_columns
from margins.rules.averaging cimport LongestSurvivor

import copy

import numpy as np

cdef enum:
    BLOCK = 8                  # columns are computed in blocks of this size
    SAMPLES_PER_CHUNK = 4096   # averagings reserve memory for this many updates
cdef Py_ssize_t TERMS_PER_CHUNK = 2**23     # products of a weight and a value in short epochs: 2 ms
cdef Py_ssize_t RESERVED_UPDATES = 512      # updates for which averagings reserve memory in short epochs
cdef Py_ssize_t DENSE_UPDATE = 8            # all columns are updated if at least 1 / DENSE_UPDATE of them change


cdef inline Py_ssize_t padded(Py_ssize_t n) noexcept nogil:
    """The least multiple of BLOCK that is at least n."""
    return (n + BLOCK - 1) // BLOCK * BLOCK


cdef class Lockstep(SampleLoop):
    """Models that are trained on the same samples in the same order.

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

    cdef Rows rows
    cdef readonly Py_ssize_t n_columns
    cdef const double[::1] codes
    cdef const double[::1] sqnorms
    cdef const double[::1] weight        # by which updates and votes are multiplied; None: 1
    cdef Py_ssize_t longest              # elements of the longest row
    cdef bint has_gain
    # By column of the weight matrix. Idle ones are computed with the others; their thresholds are -inf.
    cdef double[:, ::1] v
    cdef double[::1] label_sum, sq_intercept_scaling, code, negative, positive, gain
    cdef int32_t[:, ::1] counts          # updates by each sample; None: not needed
    cdef Py_ssize_t[::1] model
    # By model.
    cdef Py_ssize_t[::1] child
    cdef double[::1] bound, max_iter
    cdef int64_t[::1] n_updates, n_updates_before   # now, and before this epoch
    cdef int64_t[::1] rejected, rejected_before
    cdef int64_t[::1] since, rejected_since          # samples and rejections up to the last update
    # Total weights since the last update: of samples, and of those that are right; and before this epoch.
    cdef double[::1] seen, seen_before, right, right_before
    cdef list problems, averagings
    cdef Py_ssize_t n_averagings
    cdef void** averaging_of               # (model, index) -> Averaging or NULL
    cdef signed char[::1] is_survivor       # True for a LongestSurvivor
    cdef void** data_of
    # By sample.
    cdef int64_t n_processed             # samples so far, within the current chunk too
    cdef double[::1] dots, c
    cdef int64_t[::1] wrong
    cdef double[::1] values
    cdef Py_ssize_t[::1] offsets
    cdef const double* x
    cdef Py_ssize_t n_stored
    cdef WeightVector hypothesis

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

    def full_epochs(self, const int32_t[::1] order not None, int64_t n_before, bint only_one):
        """Process the samples of `order`, full epochs, with all models, until one of them ends."""
        cdef Py_ssize_t m = order.shape[0]
        cdef Py_ssize_t n_together = 1 if only_one else self._n_together(m, n_before)
        cdef int64_t n_epochs = n_before
        cdef Tally tally
        while True:
            if n_together == 1:
                self._begin_epoch()
                self.run(order, m, &tally)
                n_epochs += 1
            else:  # single short epochs would wait for the GIL longer than for memory
                self.reserve(n_together * m)
                with nogil:
                    n_epochs = self._short_epochs(order, n_epochs, n_together)
                PyErr_CheckSignals()
            if only_one or self._has_ended(n_epochs):
                return n_epochs

    cdef Py_ssize_t _n_together(self, Py_ssize_t m, int64_t n_epochs) noexcept:
        """Return the number of epochs of m samples to process without the GIL, for some milliseconds."""
        cdef Py_ssize_t n_samples = TERMS_PER_CHUNK // (padded(self.n_columns) * self.longest), column
        cdef double most
        if self.n_averagings > 0:
            n_samples = min(n_samples, RESERVED_UPDATES)
        most = n_samples // m
        for column in range(self.n_columns):
            most = min(most, self.max_iter[self.model[column]] - n_epochs)
        return max(<Py_ssize_t> most, 1)

    cdef int64_t _short_epochs(self, const int32_t[::1] order, int64_t n_epochs, Py_ssize_t most) except -1 nogil:
        """Do the same as `full_epochs`, for at most `most` epochs and without the GIL."""
        cdef Tally tally
        cdef Py_ssize_t _index
        tally.n_changed = 0
        for _index in range(most):
            self._begin_epoch()
            self.process(order, 0, order.shape[0], &tally)
            n_epochs += 1
            if self._has_ended(n_epochs):
                break
        return n_epochs

    cdef void _begin_epoch(self) noexcept nogil:
        """Store the counts before an epoch."""
        cdef Py_ssize_t i
        for i in range(self.n_updates.shape[0]):
            self.n_updates_before[i], self.rejected_before[i] = self.n_updates[i], self.rejected[i]
            self.seen_before[i], self.right_before[i] = self.seen[i], self.right[i]

    cdef bint _has_ended(self, double n_epochs) noexcept nogil:
        """Return True if a model has ended."""
        cdef Py_ssize_t column
        for column in range(self.n_columns):
            if self._is_over(self.model[column], n_epochs):
                return True
        return False

    cdef bint _is_over(self, Py_ssize_t model, double n_epochs) noexcept nogil:
        """Return True if the last epoch of a model had no updates, or was the last allowed."""
        return self.n_updates[model] == self.n_updates_before[model] or n_epochs >= self.max_iter[model]

    cdef Py_ssize_t chunk_size(self) noexcept nogil:
        return SAMPLES_PER_CHUNK

    cdef int reserve(self, Py_ssize_t n_samples) except -1:
        cdef Py_ssize_t column
        if self.n_averagings > 0:
            for column in range(self.n_columns):
                for averaging in self.averagings[self.model[column]].values():
                    averaging.reserve(n_samples)
        return 0

    cdef int process(self, const int32_t[::1] order, Py_ssize_t begin, Py_ssize_t end, Tally* tally) except -1 nogil:
        cdef Py_ssize_t i, k, width = padded(self.n_columns)
        cdef int64_t any_wrong
        for i in range(begin, end):
            if i + PREFETCH_DISTANCE < end:
                prefetch(self.rows, order[i + PREFETCH_DISTANCE])
            k = order[i]
            self._read_row(self.rows, k)
            products_with_columns(self.x, &self.offsets[0], self.n_stored, &self.v[0, 0], width, &self.dots[0])
            if self.has_gain:
                any_wrong = compare_with_self_score(
                    &self.dots[0], &self.label_sum[0], &self.sq_intercept_scaling[0], &self.code[0], &self.negative[0],
                    &self.positive[0], self.codes[k], width, &self.wrong[0], &self.gain[0],
                    self.sqnorms[k], &self.counts[k, 0],
                )
            else:
                any_wrong = compare(
                    &self.dots[0], &self.label_sum[0], &self.sq_intercept_scaling[0], &self.code[0], &self.negative[0],
                    &self.positive[0], self.codes[k], width, &self.wrong[0],
                )
            if self.weight is not None:
                self._count_weight(self.weight[k])
            if any_wrong:
                tally.n_changed += self._update_columns(k)
                width = padded(self.n_columns)
            self.n_processed += 1
        return 0

    cdef void _count_weight(self, double weight) noexcept nogil:
        """Count a sample that has been compared, for all columns."""
        cdef Py_ssize_t column, i
        for column in range(self.n_columns):
            i = self.model[column]
            self.seen[i] += weight
            if not self.wrong[column]:
                self.right[i] += weight

    cdef void _read_row(self, Rows rows, Py_ssize_t k) noexcept nogil:
        """Read the values of row k and the positions of their features' weights."""
        cdef Py_ssize_t j, start, step = rows.column_step, width = self.v.shape[1]
        self.x = &self.values[0]
        extent(rows, k, &start, &self.n_stored)
        if rows.columns32 is not None:
            for j in range(self.n_stored):
                self.offsets[j] = rows.columns32[start + j] * width
        elif rows.columns64 is not None:
            for j in range(self.n_stored):
                self.offsets[j] = rows.columns64[start + j] * width
        if rows.values64 is not None:
            if step == 1 and self.n_stored:
                self.x = &rows.values64[start]
            else:
                for j in range(self.n_stored):
                    self.values[j] = rows.values64[start + j * step]
        elif rows.values32 is not None:
            for j in range(self.n_stored):
                self.values[j] = rows.values32[start + j * step]

    cdef int _update_columns(self, Py_ssize_t k) except -1 nogil:
        """Add sample k to the columns that misclassify it and may add it; return 1 if there are any, else 0."""
        cdef Py_ssize_t column = 0, i, j, n_changed = 0
        cdef double label, weight = 1 if self.weight is None else self.weight[k]
        while column < self.n_columns:  # a split appends a column
            self.c[column] = 0
            if self.wrong[column]:
                i = self.model[column]
                if self.counts is not None and self.counts[k, column] >= self.bound[i]:
                    if self.child[i] >= 0:
                        with gil:
                            self._split(column)
                    self.rejected[i] += 1
                    self.wrong[column] = False
                else:
                    label = weight if self.code[column] == self.codes[k] else -weight
                    if self.n_averagings:
                        self._notify_averagings(k, column)
                    if self.counts is not None:
                        self.counts[k, column] += 1
                    self.c[column] = label
                    self.label_sum[column] += label
                    self.n_updates[i] += 1
                    n_changed += 1
            column += 1
        if n_changed * DENSE_UPDATE >= self.n_columns:
            add_to_all(self.x, &self.offsets[0], self.n_stored, &self.c[0], padded(self.n_columns), &self.v[0, 0])
        elif n_changed:
            for column in range(self.n_columns):
                if self.wrong[column]:
                    for j in range(self.n_stored):
                        (&self.v[0, 0])[self.offsets[j] + column] += self.c[column] * self.x[j]
        return n_changed > 0

    cdef void _notify_averagings(self, Py_ssize_t k, Py_ssize_t column) noexcept nogil:
        """Notify the averagings of a column that it will be updated by sample k."""
        cdef Py_ssize_t i = self.model[column], j
        cdef bint gathered = False
        cdef void* averaging
        cdef Sample sample
        cdef Step step
        sample.k, sample.positive = k, self.code[column] == self.codes[k]
        # Averagings do not use these.
        sample.product = sample.sqnorm = sample.dual = sample.upper = sample.threshold = 0
        sample.weight = step.add = 1 if self.weight is None else self.weight[k]
        step.shrink = step.repetitions = 1
        for j in range(i * self.n_averagings, (i + 1) * self.n_averagings):
            averaging = self.averaging_of[j]
            if averaging == NULL:
                break
            self._count(i, <Averaging> averaging, True)
            # Only a LongestSurvivor needs the weights, and only if the hypothesis is a candidate.
            if self.is_survivor[j] and not gathered and (
                (<Averaging> averaging).n_right > (<LongestSurvivor> averaging).longest
            ):
                self._gather(column, self.hypothesis)
                gathered = True
            (<Averaging> averaging).before_update(<BinaryData> self.data_of[i], self.hypothesis, &sample, &step)
        self.since[i] = self.n_processed + 1
        self.seen[i] = self.right[i] = 0
        self.rejected_since[i] = self.rejected[i]

    def ended(self, double n_epochs):
        """Return the models whose last epoch had no updates, or was the last allowed: list of int."""
        cdef Py_ssize_t column
        return [self.model[column] for column in range(self.n_columns) if self._is_over(self.model[column], n_epochs)]
