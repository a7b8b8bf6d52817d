"""Many models in one pass: perceptrons that differ in parameters, trained on the same samples.

The problem: models i = 1, 2, ... process the same samples in the same order. They differ in thresholds,
labels (one class against the rest), threshold step, lambda-trick and alpha-bound. Alone, each model does

    p = l (w_i.x_k + rho_i^2 b_i)
    if p + [gain_i |x_k|^2 once i has added k] <= threshold_i(l), and i has added k less than bound_i times:
        w_i <- w_i + c_k l x_k,   b_i <- b_i + c_k l      with c_k the weight of the sample

Together their weights are a matrix of shape (features, columns), with one column for each model: one
traversal of x_k computes all products, and the inner loop is over contiguous memory
(`margins.model_selection._columns`). Every model equals, bit for bit, the model trained alone.

Given: the rows, the parameters of the models, an order for one or more epochs. Left in place: the weights
and the state of the averagings. Returned: the number of epochs and, for each finished model, its weights,
averagings and updates.

Source: Khardon & Wachman (2007), Figure 2. `margins._update.mini_epoch` does the same for one model.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, int64_t
from margins._limits cimport PREFETCH_DISTANCE
from margins._sparse cimport Rows, dense_start, prefetch
from margins._update cimport BinaryData, Averaging, Sample, Step, Tally
from margins.model_selection._columns cimport (
    add_to_all, compare, compare_with_self_score, products_with_columns,
)
from margins.model_selection._model_columns cimport SAMPLES_PER_CHUNK, ModelColumns, padded
from margins.rules.averaging cimport LongestSurvivor

cdef Py_ssize_t TERMS_PER_CHUNK = 2**23     # products of a weight and a value in short epochs: 2 ms
cdef Py_ssize_t RESERVED_UPDATES = 512      # updates for which averagings reserve memory in short epochs
cdef Py_ssize_t DENSE_UPDATE = 8            # all columns are updated if at least 1 / DENSE_UPDATE of them change


cdef class Lockstep(ModelColumns):
    """Models that are trained on the same samples in the same order.

    Parameters and attributes are as for `margins.model_selection._model_columns.ModelColumns`.
    """

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

    cdef int64_t _short_epochs(
        self, const int32_t[::1] order, int64_t n_epochs, Py_ssize_t most
    ) except -1 nogil:
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
        return (
            self.n_updates[model] == self.n_updates_before[model] or n_epochs >= self.max_iter[model]
        )

    cdef Py_ssize_t chunk_size(self) noexcept nogil:
        return SAMPLES_PER_CHUNK

    cdef int reserve(self, Py_ssize_t n_samples) except -1:
        cdef Py_ssize_t column
        if self.n_averagings > 0:
            for column in range(self.n_columns):
                for averaging in self.averagings[self.model[column]].values():
                    averaging.reserve(n_samples)
        return 0

    cdef int process(
        self, const int32_t[::1] order, Py_ssize_t begin, Py_ssize_t end, Tally* tally
    ) except -1 nogil:
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
        cdef Py_ssize_t j, start, step = 1, width = self.v.shape[1]
        self.x = &self.values[0]
        if rows.columns32 is not None:
            start, self.n_stored = rows.starts32[k], rows.ends32[k] - rows.starts32[k]
            for j in range(self.n_stored):
                self.offsets[j] = rows.columns32[start + j] * width
        elif rows.columns64 is not None:
            start, self.n_stored = rows.starts64[k], rows.ends64[k] - rows.starts64[k]
            for j in range(self.n_stored):
                self.offsets[j] = rows.columns64[start + j] * width
        else:
            start, step, self.n_stored = dense_start(rows, k), rows.column_step, rows.n_features
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
            add_to_all(
                self.x, &self.offsets[0], self.n_stored, &self.c[0], padded(self.n_columns), &self.v[0, 0]
            )
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
            (<Averaging> averaging).before_update(
                <BinaryData> self.data_of[i], self.hypothesis, &sample, &step
            )
        self.since[i] = self.n_processed + 1
        self.seen[i] = self.right[i] = 0
        self.rejected_since[i] = self.rejected[i]

    def ended(self, double n_epochs):
        """Return the models whose last epoch had no updates, or was the last allowed: list of int."""
        cdef Py_ssize_t column
        return [
            self.model[column]
            for column in range(self.n_columns)
            if self._is_over(self.model[column], n_epochs)
        ]
