"""The model of the voted perceptron: the mistakes that make up its hypotheses, and their votes.

Its arrays have spare capacity: adding a mistake takes constant time on average. Callers get views of the
part in use, which never changes.
"""

import numpy as np
from scipy import sparse

from margins.data.binary_data import csr_arrays
from margins.rules._voting import count_votes


class GrowingArray:
    """Array that grows along its first axis; the first elements are copied when more are added."""

    def __init__(self, values):
        self._buffer, self._n = values, len(values)

    def __len__(self):
        return self._n

    @property
    def values(self):
        """The elements so far (ndarray; treat it as read-only)."""
        return self._buffer[: self._n]

    def extend(self, values):
        """Append elements, converted to a common type."""
        dtype = np.result_type(self._buffer.dtype, values.dtype)
        length = self._n + len(values)
        if length > len(self._buffer) or dtype != self._buffer.dtype:
            buffer = np.empty((length + length // 2, *self._buffer.shape[1:]), dtype=dtype)
            buffer[: self._n] = self.values
            self._buffer = buffer
        self._buffer[self._n : length] = values
        self._n = length

    def __getstate__(self):
        return {"_buffer": self.values, "_n": self._n}


class GrowingRows:
    """Rows of a dense array or CSR matrix, to which rows can be appended."""

    def __init__(self, X):
        self._is_array, self._n_features = isinstance(X, sparse.sparray), X.shape[1]
        self._parts = [GrowingArray(part) for part in _parts_of(X)]

    @property
    def _is_sparse(self):
        return len(self._parts) == 3

    @property
    def matrix(self):
        """The rows so far (ndarray, or CSR matrix of the type of the first sparse rows)."""
        if not self._is_sparse:
            return self._parts[0].values
        starts = self._parts[2].values
        data, columns = (part.values[: starts[-1]] for part in self._parts[:2])
        kind = sparse.csr_array if self._is_array else sparse.csr_matrix
        return kind((data, columns, starts), shape=(len(starts) - 1, self._n_features))

    def extend(self, X):
        """Append rows."""
        if sparse.issparse(X) and not self._is_sparse:
            self.__init__(type(X)(self.matrix))
        if not self._is_sparse:
            self._parts[0].extend(X)
            return
        data, columns, starts = _parts_of(X if sparse.issparse(X) else sparse.csr_array(X))
        n_stored = self._parts[2].values[-1]
        self._parts[0].extend(data)
        self._parts[1].extend(columns)
        self._parts[2].extend(n_stored + starts[1:])

    @property
    def saved(self):
        """The current content, for `restore`: views, not copies."""
        return self._is_array, [part.values for part in self._parts]

    def restore(self, saved):
        """Restore saved content, in the same storage."""
        self._is_array, parts = saved
        # Without spare capacity, so that views of rows added since then do not change.
        self._parts = list(map(GrowingArray, parts))


def _parts_of(X):
    if not sparse.issparse(X):
        return (X,)
    data, columns, starts = csr_arrays(X)
    return data[: starts[-1]], columns[: starts[-1]], starts


class VotedModel:
    """Mistakes and votes of all binary problems.

    X, shape (n_support, d): the distinct samples that were mistakes.
    indices, codes, shape (n_support,): their indices in the training set, and their classes.
    weights, shape (n_support,): the factor with which an update adds each sample.
    mistakes, shape (n_mistakes,): for each binary problem, its mistakes in order, as row indices of X.
    votes, shape (n_mistakes + 1,): for each binary problem, the votes of its hypotheses.
    """

    def __init__(self, X, indices, codes, weights, mistakes, votes):
        self._rows = GrowingRows(X)
        self._indices, self._codes = GrowingArray(indices), GrowingArray(codes)
        self._weights = GrowingArray(weights)
        self._mistakes = [GrowingArray(part) for part in mistakes]
        self._ended = [GrowingArray(part[:-1]) for part in votes]
        self._current = [part[-1] for part in votes]  # the current hypotheses still gain votes

    def extend(self, X, indices, codes, weights, mistakes, votes):
        """Add the mistakes of more samples."""
        n_before = len(self._indices)
        if len(indices):
            # Add rows before the mistakes that refer to them: another thread may be predicting.
            self._rows.extend(X)
            self._codes.extend(codes)
            self._weights.extend(weights)
            self._indices.extend(indices)
        for index, (new_mistakes, counts) in enumerate(zip(mistakes, votes, strict=True)):
            if len(new_mistakes):
                self._ended[index].extend(counts[:-1])
                self._mistakes[index].extend(np.int32(n_before) + new_mistakes)
            self._current[index] = counts[-1]

    @property
    def saved(self):
        """The current content, for `restore`: views, not copies."""
        lists = [part.values for part in self._mistakes], [part.values for part in self._ended]
        samples = self._indices.values, self._codes.values, self._weights.values
        return self._rows.saved, *samples, *lists, list(self._current)

    def restore(self, saved):
        """Restore saved content, for instance from before an interrupted chunk."""
        rows, indices, codes, weights, mistakes, past_votes, self._current = saved
        # Restore lists before the rows that they refer to: another thread may be predicting.
        self._mistakes = list(map(GrowingArray, mistakes))
        self._ended = list(map(GrowingArray, past_votes))
        self._indices, self._codes = GrowingArray(indices), GrowingArray(codes)
        self._weights = GrowingArray(weights)
        self._rows.restore(rows)

    def keep_tail(self, index, first):
        """Remove the votes of a binary problem's hypotheses before number `first`."""
        votes = self.votes[index]
        votes[:first] = 0
        self._ended[index], self._current[index] = GrowingArray(votes[:-1]), votes[-1]

    @property
    def support(self):
        return self._indices.values

    @property
    def support_vectors(self):
        return self._rows.matrix

    @property
    def mistakes(self):
        return [part.values for part in self._mistakes]

    @property
    def votes(self):
        pairs = zip(self._ended, self._current, strict=True)
        return [np.append(past.values, current) for past, current in pairs]

    @property
    def parts(self):
        """The arguments that make an equal model (tuple)."""
        samples = self.support_vectors, self.support, self._codes.values, self._weights.values
        return *samples, self.mistakes, self.votes

    def arguments(self, codes, theta, sq_intercept_scaling):
        """Return the arguments of `count_votes` after `products`, for each problem (list of tuple)."""
        lists = []
        for mistakes, past, current in zip(self._mistakes, self._ended, self._current, strict=True):
            rows = mistakes.values
            lists.append((rows, np.append(past.values[: len(rows)], current)))
        weights = self._weights.values  # read before the classes: another thread may extend both
        return [
            (mistakes, self.labels(code)[: len(weights)] * weights, votes, theta, sq_intercept_scaling)
            for code, (mistakes, votes) in zip(codes, lists, strict=True)
        ]

    def labels(self, code):
        """Return the labels of the support samples in the problem of a class (ndarray of float64)."""
        return np.where(self._codes.values == code, 1.0, -1.0)


def count_in_blocks(kernel, X, vectors, support, fits):
    """Return the votes of several fits on the same points, computing kernel values only once."""
    votes = [np.empty((X.shape[0], len(problems))) for problems in fits]
    for batch, products in kernel.blocks(X, vectors, support):
        for votes_of_fit, problems in zip(votes, fits, strict=True):
            for index, arguments in enumerate(problems):
                votes_of_fit[batch, index] = count_votes(products, *arguments)
    return votes


class OfVotes:
    """Descriptor of an attribute that a voted model has, with another descriptor as a fallback."""

    def __init__(self, fallback=None):
        self._fallback = fallback

    def __set_name__(self, owner, name):
        self._name = name

    def __get__(self, estimator, owner=None):
        if estimator is None:
            return self
        model = vars(estimator).get("_voted_model")
        if model is not None:
            return getattr(model, self._name[:-1])
        if self._fallback is not None:
            return self._fallback.__get__(estimator, owner)
        raise AttributeError(f"{owner.__name__!r} object has no attribute {self._name!r}")
