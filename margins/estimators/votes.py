"""The model of the voted perceptron: the mistakes that its hypotheses are made of, and their votes.

A stream adds to it chunk by chunk. Arrays have spare capacity, so that adding one mistake takes constant
time on average; what is given out is a view of the part in use, which never changes.
"""

import numpy as np
from scipy import sparse

from margins.data.binary_data import csr_arrays
from margins.rules._voting import count_votes


class GrowingArray:
    """An array that grows along its first axis.

    Parameters
    ----------
    values : ndarray
        The first elements; copied when more are added.
    """

    def __init__(self, values):
        self._buffer, self._n = values, len(values)

    def __len__(self):
        return self._n

    @property
    def values(self):
        """The elements so far: ndarray, read-only in effect."""
        return self._buffer[: self._n]

    def extend(self, values):
        """Add elements, converted to a common type."""
        dtype = np.result_type(self._buffer.dtype, values.dtype)
        needed = self._n + len(values)
        if needed > len(self._buffer) or dtype != self._buffer.dtype:
            buffer = np.empty((needed + needed // 2, *self._buffer.shape[1:]), dtype=dtype)
            buffer[: self._n] = self.values
            self._buffer = buffer
        self._buffer[self._n : needed] = values
        self._n = needed

    def __getstate__(self):
        return {"_buffer": self.values, "_n": self._n}


class GrowingRows:
    """Rows of a dense array or of a CSR matrix, to which more are added.

    Parameters
    ----------
    X : ndarray or CSR matrix, shape (n, d)
    """

    def __init__(self, X):
        self._is_array, self._n_features = isinstance(X, sparse.sparray), X.shape[1]
        self._parts = [GrowingArray(part) for part in _parts_of(X)]

    @property
    def _is_sparse(self):
        return len(self._parts) == 3

    @property
    def matrix(self):
        """The rows so far: ndarray or CSR matrix, of the first type that was sparse, if any was."""
        if not self._is_sparse:
            return self._parts[0].values
        starts = self._parts[2].values
        data, columns = (part.values[: starts[-1]] for part in self._parts[:2])
        kind = sparse.csr_array if self._is_array else sparse.csr_matrix
        return kind((data, columns, starts), shape=(len(starts) - 1, self._n_features))

    def extend(self, X):
        """Add rows."""
        if sparse.issparse(X) and not self._is_sparse:
            self.__init__(type(X)(self.matrix))
        if not self._is_sparse:
            self._parts[0].extend(X)
            return
        data, columns, starts = _parts_of(X if sparse.issparse(X) else sparse.csr_array(X))
        begin = self._parts[2].values[-1]
        self._parts[0].extend(data)
        self._parts[1].extend(columns)
        self._parts[2].extend(begin + starts[1:])

    @property
    def saved(self):
        """What it holds now, for `restore`: views, not copies."""
        return self._is_array, [part.values for part in self._parts]

    def restore(self, saved):
        """Hold what it has held, in the same storage."""
        self._is_array, parts = saved
        # Without capacity: views of what has been added since stay as they are.
        self._parts = list(map(GrowingArray, parts))


def _parts_of(X):
    if not sparse.issparse(X):
        return (X,)
    data, columns, starts = csr_arrays(X)
    return data[: starts[-1]], columns[: starts[-1]], starts


class VotedModel:
    """The mistakes and votes of all binary problems.

    Parameters
    ----------
    X : ndarray or CSR matrix, shape (n_support, d)
        The distinct samples that were mistakes.
    indices, codes : ndarray of int, shape (n_support,)
        Their indices in the training set, and their classes.
    weights : ndarray of float64, shape (n_support,)
        What an update adds of each.
    mistakes : list of ndarray of int32, shape (n_mistakes,)
        For each binary problem, the mistakes in order: rows of X.
    votes : list of ndarray of float64, shape (n_mistakes + 1,)
        The votes of its hypotheses.
    """

    def __init__(self, X, indices, codes, weights, mistakes, votes):
        self._rows = GrowingRows(X)
        self._indices, self._codes = GrowingArray(indices), GrowingArray(codes)
        self._weights = GrowingArray(weights)
        self._mistakes = [GrowingArray(part) for part in mistakes]
        self._ended = [GrowingArray(part[:-1]) for part in votes]
        self._current = [part[-1] for part in votes]  # the votes of the current hypotheses

    def extend(self, X, indices, codes, weights, mistakes, votes):
        """Add the mistakes of more samples.

        Parameters
        ----------
        X, indices, codes, weights, mistakes, votes
            As above. The first of `votes` is that of the current hypothesis, in full.
        """
        n_before = len(self._indices)
        if len(indices):
            # Rows before the mistakes that refer to them: another thread may be predicting.
            self._rows.extend(X)
            self._codes.extend(codes)
            self._weights.extend(weights)
            self._indices.extend(indices)
        for index, (more, counts) in enumerate(zip(mistakes, votes, strict=True)):
            if len(more):
                self._ended[index].extend(counts[:-1])
                self._mistakes[index].extend(np.int32(n_before) + more)
            self._current[index] = counts[-1]

    @property
    def saved(self):
        """What it holds now, for `restore`: views, not copies."""
        lists = [part.values for part in self._mistakes], [part.values for part in self._ended]
        samples = self._indices.values, self._codes.values, self._weights.values
        return self._rows.saved, *samples, *lists, list(self._current)

    def restore(self, saved):
        """Hold what it has held, for instance before a chunk that was interrupted."""
        rows, indices, codes, weights, mistakes, ended, self._current = saved
        # Lists before the rows that they refer to: another thread may be predicting.
        self._mistakes, self._ended = list(map(GrowingArray, mistakes)), list(map(GrowingArray, ended))
        self._indices, self._codes = GrowingArray(indices), GrowingArray(codes)
        self._weights = GrowingArray(weights)
        self._rows.restore(rows)

    def keep_tail(self, index, first):
        """Remove the votes of the hypotheses of a binary problem before the `first`."""
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
        return [np.append(ended.values, current) for ended, current in pairs]

    @property
    def parts(self):
        """The arguments that make an equal model: tuple."""
        samples = self.support_vectors, self.support, self._codes.values, self._weights.values
        return *samples, self.mistakes, self.votes

    def arguments(self, codes, theta, sqrho):
        """The arguments of `count_votes` after the products, for each binary problem: list of tuple.

        Parameters
        ----------
        codes : list of int
            The positive class of each binary problem.
        theta : float
            The threshold before the first update, in units of updates.
        sqrho : float
            By which an update moves it.
        """
        lists = []
        for mistakes, ended, current in zip(self._mistakes, self._ended, self._current, strict=True):
            done = mistakes.values
            lists.append((done, np.append(ended.values[: len(done)], current)))
        weights = self._weights.values  # before the classes: another thread may be adding to both
        return [
            (mistakes, self.labels(code)[: len(weights)] * weights, votes, theta, sqrho)
            for code, (mistakes, votes) in zip(codes, lists, strict=True)
        ]

    def labels(self, code):
        """The labels of the support in the binary problem of a class: ndarray of float64."""
        return np.where(self._codes.values == code, 1.0, -1.0)


def count_in_blocks(kernel, X, vectors, support, fits):
    """The votes of several fits on the same points, whose kernel values are computed once.

    Parameters
    ----------
    kernel : margins.kernels.Kernel
    X, vectors, support
        As those of `Kernel.blocks`.
    fits : list of list
        For each fit and binary problem the arguments of `count_votes` after the products.

    Returns
    -------
    list of ndarray of float64, shape (n_points, n_problems)
    """
    votes = [np.empty((X.shape[0], len(problems))) for problems in fits]
    for batch, products in kernel.blocks(X, vectors, support):
        for of_fit, problems in zip(votes, fits, strict=True):
            for index, mistakes in enumerate(problems):
                of_fit[batch, index] = count_votes(products, *mistakes)
    return votes


class OfVotes:
    """An attribute of a classifier that its voted model has, where the fit has set none itself.

    Parameters
    ----------
    name : str
        Of the attribute of `VotedModel`.
    otherwise : descriptor, optional
        What has the attribute if there is no such model.
    """

    def __init__(self, name, otherwise=None):
        self._name, self._otherwise = name, otherwise

    def __set_name__(self, owner, name):
        self._public = name

    def __get__(self, estimator, owner=None):
        if estimator is None:
            return self
        model = vars(estimator).get("_voted_model")
        if model is None and self._otherwise is not None:
            return self._otherwise.__get__(estimator, owner)
        if model is None:
            raise AttributeError(f"{owner.__name__!r} object has no attribute {self._public!r}")
        return getattr(model, self._name)
