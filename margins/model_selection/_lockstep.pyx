"""Many models in one pass: perceptrons that differ in parameters, trained on the same samples.

The problem: models i = 1, 2, ... process the same samples in the same order, each with its own thresholds,
labels (of one class against the rest), threshold step, lambda-trick and alpha-bound. Alone, each does

    p = l (w_i.x_k + rho_i^2 b_i)
    if p + [gain_i |x_k|^2 once i has added k] <= threshold_i(l), and i has added k less than bound_i times:
        w_i <- w_i + l x_k,   b_i <- b_i + l

Together their weights are a matrix of shape (features, columns), with one column for each model: one
traversal of x_k computes all products, and the inner loop is over contiguous memory
(`margins.model_selection._columns`). Every model is bit for bit the one trained alone.

Given: the rows, the parameters of the models, an order for one or more epochs. Left in place: the weights,
and what the averagings keep. The column of a finished model is filled with the last one. Returned: the
number of epochs; and, of each finished model, its weights, averagings and updates.

Models that differ in bound_i alone are equal until a bound is reached. They share a column; it is split
when a sample that has been added as often as the smallest of their bounds allows is misclassified again.

Source: Khardon & Wachman (2007), Figure 2. What is done to one model: `margins._update.mini_epoch`.
"""

from cpython.exc cimport PyErr_CheckSignals
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from margins._limits cimport PREFETCH_DISTANCE
from margins._sparse cimport Rows, dense_start, prefetch
from margins._update cimport BinaryData, Averaging, Sample, SampleLoop, Step, Tally, WeightVector
from margins.model_selection._columns cimport (
    add_to_all, compare, compare_with_self_score, products_with_columns,
)
from margins.rules.averaging cimport LongestSurvivor

import copy

import numpy as np

cdef Py_ssize_t BLOCK = 8                   # columns are computed in blocks of this size
cdef Py_ssize_t SAMPLES_PER_CHUNK = 4096    # averagings reserve memory for so many updates
cdef Py_ssize_t TERMS_PER_CHUNK = 2**23     # products of a weight and a value in short epochs: 2 ms
cdef Py_ssize_t RESERVED_UPDATES = 512      # averagings keep memory for so many in short epochs
cdef Py_ssize_t DENSE_UPDATE = 8            # all columns are updated if at least one in so many changes


cdef inline Py_ssize_t _padded(Py_ssize_t n) noexcept nogil:
    """The least multiple of BLOCK that is at least n."""
    return (n + BLOCK - 1) // BLOCK * BLOCK


cdef class Lockstep(SampleLoop):
    """Models that are trained on the same samples in the same order.

    Parameters
    ----------
    rows : Rows
        Not those of a kernel.
    codes : ndarray of float64, shape (m,)
        The class of every sample, a whole number.
    sqnorms : ndarray of float64, shape (m,)
        |x_k|^2.
    models : sequence
        Each with attributes `parameters` (with `code`, its positive class; `sqrho`, rho^2; `negative`
        and `positive`, the thresholds of either label; `gain`; `max_iter`), `bound` (inf: none),
        `child` (index of the model that is the same but for the next larger bound, or -1), `has_parent`
        (whether it is the child of another), `data` (the binary problem) and `averagings` (names to
        Averaging; those of a child are copies, made when its column is split off).

    Attributes
    ----------
    n_columns : int
        Columns in use: models in training, those that share a column counted once.
    """

    def __cinit__(self, Rows rows not None, codes, sqnorms, models):
        cdef Py_ssize_t i, j, width = _padded(len(models)), d = rows.n_features
        self.rows, self.codes, self.sqnorms = rows, codes, sqnorms
        self.v = np.zeros((d, width))
        self.label_sum, self.sqrho, self.code, self.gain = np.zeros((4, width))
        self.negative, self.positive = np.full((2, width), -INFINITY)
        self.dots, self.c = np.zeros((2, width))
        self.wrong = np.zeros(width, dtype=np.int64)
        self.model = np.zeros(width, dtype=np.intp)
        self.has_gain = any(model.parameters.gain > 0 for model in models)
        self.counts = None
        if self.has_gain or any(model.bound < INFINITY for model in models):
            self.counts = np.zeros((rows.n_rows, width), dtype=np.int32)
        self.longest = max(rows.longest(), 1)
        self.values = np.ones(d)  # also the values of CSR that stores none
        self.offsets = np.arange(d, dtype=np.intp) * width  # also those of every dense row
        self.hypothesis = WeightVector(d)

        self.child = np.array([model.child for model in models], dtype=np.intp)
        self.bound = np.array([model.bound for model in models], dtype=np.float64)
        self.max_iter = np.array([model.parameters.max_iter for model in models], dtype=np.float64)
        self.n_updates, self.n_updates_before = np.zeros((2, len(models)), dtype=np.int64)
        self.rejected, self.rejected_before = np.zeros((2, len(models)), dtype=np.int64)
        self.since, self.rejected_since = np.zeros((2, len(models)), dtype=np.int64)
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
        self.code[column], self.sqrho[column] = parameters.code, parameters.sqrho
        self.negative[column], self.positive[column] = parameters.negative, parameters.positive
        self.gain[column] = parameters.gain

    def _set_averagings(self, Py_ssize_t model, dict averagings):
        """Set the averagings of a model."""
        cdef Py_ssize_t j
        self.averagings[model] = averagings
        for j, averaging in enumerate(averagings.values()):
            self.averaging_of[model * self.n_averagings + j] = <void*> <Averaging?> averaging
            self.is_survivor[model * self.n_averagings + j] = isinstance(averaging, LongestSurvivor)

    def full_epochs(self, const int32_t[::1] order not None, int64_t n_before, bint only_one):
        """Process the samples of `order`, full epochs, with all models, until one of them ends.

        Parameters
        ----------
        order : ndarray of int32, shape (m,)
        n_before : int
            Epochs before these.
        only_one : bool
            End after one epoch: the next has another order.

        Returns
        -------
        int
            Epochs, with those before.

        Raises
        ------
        KeyboardInterrupt
            Ctrl-C is honoured every few milliseconds.
        """
        cdef Py_ssize_t m = order.shape[0]
        cdef Py_ssize_t n_together = 1 if only_one else self._n_together(m, n_before)
        cdef int64_t n_epochs = n_before
        cdef Tally tally
        while True:
            if n_together == 1:
                self._begin_epoch()
                self.run(order, m, &tally)
                n_epochs += 1
            else:  # short ones would wait for the GIL more often than for memory
                self.reserve(n_together * m)
                with nogil:
                    n_epochs = self._short_epochs(order, n_epochs, n_together)
                PyErr_CheckSignals()
            if only_one or self._has_ended(n_epochs):
                return n_epochs

    cdef Py_ssize_t _n_together(self, Py_ssize_t m, int64_t n_epochs) noexcept:
        """How many epochs of m samples are processed without the GIL, for some milliseconds: at least 1."""
        cdef Py_ssize_t n_samples = TERMS_PER_CHUNK // (_padded(self.n_columns) * self.longest), column
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
        """As `full_epochs`, but at most `most` epochs, without the GIL."""
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
        """Keep the counts before an epoch."""
        cdef Py_ssize_t i
        for i in range(self.n_updates.shape[0]):
            self.n_updates_before[i], self.rejected_before[i] = self.n_updates[i], self.rejected[i]

    cdef bint _has_ended(self, double n_epochs) noexcept nogil:
        """True if a model has ended."""
        cdef Py_ssize_t column
        for column in range(self.n_columns):
            if self._is_over(self.model[column], n_epochs):
                return True
        return False

    cdef bint _is_over(self, Py_ssize_t model, double n_epochs) noexcept nogil:
        """True if the last epoch of a model had no updates, or was the last allowed."""
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
        cdef Py_ssize_t i, k, width = _padded(self.n_columns)
        cdef int64_t any_wrong
        for i in range(begin, end):
            if i + PREFETCH_DISTANCE < end:
                prefetch(self.rows, order[i + PREFETCH_DISTANCE])
            k = order[i]
            self._read_row(self.rows, k)
            products_with_columns(self.x, &self.offsets[0], self.n_stored, &self.v[0, 0], width, &self.dots[0])
            if self.has_gain:
                any_wrong = compare_with_self_score(
                    &self.dots[0], &self.label_sum[0], &self.sqrho[0], &self.code[0], &self.negative[0],
                    &self.positive[0], self.codes[k], width, &self.wrong[0], &self.gain[0],
                    self.sqnorms[k], &self.counts[k, 0],
                )
            else:
                any_wrong = compare(
                    &self.dots[0], &self.label_sum[0], &self.sqrho[0], &self.code[0], &self.negative[0],
                    &self.positive[0], self.codes[k], width, &self.wrong[0],
                )
            if any_wrong:
                tally.n_changed += self._update_columns(k)
                width = _padded(self.n_columns)
            self.n_processed += 1
        return 0

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
        """Add sample k to the columns that misclassify it and may add it; 1 if there is one, else 0."""
        cdef Py_ssize_t column = 0, i, j, n_changed = 0
        cdef double label
        while column < self.n_columns:  # a split appends one
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
                    label = 1 if self.code[column] == self.codes[k] else -1
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
                self.x, &self.offsets[0], self.n_stored, &self.c[0], _padded(self.n_columns), &self.v[0, 0]
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
        # Not used by averagings.
        sample.product = sample.sqnorm = sample.dual = sample.upper = sample.threshold = 0
        step.shrink = step.add = step.repetitions = 1
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
        self.rejected_since[i] = self.rejected[i]

    cdef void _count(self, Py_ssize_t i, Averaging averaging, bint processing) noexcept nogil:
        """Set in an averaging of model i how many samples its current hypothesis has processed.

        `processing`: including the current sample, which it misclassifies.
        """
        cdef int64_t n_samples = self.n_processed - self.since[i]
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
        """Copy a column to an idle one."""
        cdef Py_ssize_t j
        for j in range(self.v.shape[0]):
            self.v[j, to] = self.v[j, column]
        if self.counts is not None:
            for j in range(self.counts.shape[0]):
                self.counts[j, to] = self.counts[j, column]
        self.label_sum[to], self.sqrho[to], self.gain[to] = (
            self.label_sum[column], self.sqrho[column], self.gain[column]
        )
        self.code[to], self.negative[to], self.positive[to] = (
            self.code[column], self.negative[column], self.positive[column]
        )
        self.model[to] = self.model[column]
        self.wrong[to] = self.wrong[column]

    cdef int _split(self, Py_ssize_t column) except -1:
        """Move the child of a column's model, with its own children, to a new column."""
        cdef Py_ssize_t i = self.model[column], j = self.child[i]
        self._copy_column(column, self.n_columns)
        self.model[self.n_columns] = j
        self.n_columns += 1
        self.child[i] = -1
        self.n_updates[j] = self.n_updates[i]
        self.since[j] = self.since[i]  # nothing has been rejected yet
        averagings = copy.deepcopy(self.averagings[i])
        for averaging in averagings.values():
            averaging.reserve(SAMPLES_PER_CHUNK)
        self._set_averagings(j, averagings)
        return 0

    def ended(self, double n_epochs):
        """The models whose last epoch had no updates, or was the last allowed: list of int."""
        cdef Py_ssize_t column
        return [
            self.model[column]
            for column in range(self.n_columns)
            if self._is_over(self.model[column], n_epochs)
        ]

    def finish(self, Py_ssize_t model, int64_t n_epochs_left):
        """Remove the column of a model, which may be shared by others.

        Parameters
        ----------
        model : int
        n_epochs_left : int
            Epochs, each like the last one, which had no updates, that are counted as processed.

        Returns
        -------
        weights : WeightVector
        averagings : dict of Averaging
        n_updates : int
        models : list of int
            The models of the column.
        """
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
            averaging.n_accesses += n_epochs_left * m
            averaging.n_right += n_epochs_left * (m - rejected)
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
