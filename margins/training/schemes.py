"""How several classes become binary problems: one-vs-rest, or one-vs-one.

A scheme says which samples a problem has and which of them are positive, how the scores of problems
decide, and where the dual variables of problems are kept. Two classes are one problem under either, in
which the second class is positive: `scheme_of` returns `OneVsRest` for them.

**Source**: Rifkin & Klautau (2004), In defense of one-vs-all classification; Hsu & Lin (2002), A
comparison of methods for multi-class support vector machines; Chang & Lin (2011), LIBSVM, section 7, for
the order of pairs, the votes, and the layout of dual variables.
"""

import functools
from itertools import combinations

import numpy as np


def positive_codes(n_classes):
    """The positive class of each binary problem; two classes make one problem."""
    return [1] if n_classes == 2 else list(range(n_classes))


def labels_of_scores(scores, classes):
    """The class with the largest score; of two classes, the second if its score is positive.

    Parameters
    ----------
    scores : ndarray of float64, shape (..., n_samples) for two classes, else (..., n_classes)
    classes : ndarray, shape (n_classes,)

    Returns
    -------
    ndarray, shape (..., n_samples)
    """
    return classes[(scores > 0).astype(int) if len(classes) == 2 else scores.argmax(axis=-1)]


class OneVsRest:
    """One problem for each class, against all others.

    Parameters
    ----------
    n_classes : int

    Attributes
    ----------
    n_problems : int
    n_dual_rows : int
        Rows of an array that holds the dual variables of all problems.
    """

    has_pairs = False

    def __init__(self, n_classes):
        self.n_classes = n_classes
        self.positive = positive_codes(n_classes)
        self.n_problems = self.n_dual_rows = len(self.positive)

    def labels(self, classes):
        """The positive class of each problem: list."""
        labels = classes.tolist()
        return [labels[code] for code in self.positive]

    def names(self, classes):
        """What messages call the problems: list of str; of a single one empty."""
        if self.n_problems == 1:
            return [""]
        return [f"class {label!r}" for label in self.labels(classes)]

    def binary(self, training_set, index):
        """A binary problem: the TrainingSet of its samples, and the code of its positive class."""
        return training_set, self.positive[index]

    def binary_with_same_rows(self, training_set, index):
        """The same, over the rows of the training set: products with all its samples are known."""
        return self.binary(training_set, index)

    def is_absent(self, index, absent):
        """True if a class that a problem needs is among those without samples: sequence of int."""
        return self.positive[index] in absent

    def set_absent(self, values, absent, offset):
        """Set what problems without samples have, so that no prediction is one of their classes.

        Their scores are the mean of all others less an offset, and so at each point less than another.

        Parameters
        ----------
        values : ndarray of float64, shape (n_problems, ...)
            Weights, dual variables, intercepts or scores; changed in place.
        absent : sequence of int
            The classes without samples.
        offset : float
            1 for intercepts and scores, else 0.
        """
        if absent:
            others = np.delete(values, absent, axis=0)
            values[list(absent)] = others.mean(axis=0) - offset

    def signs(self, codes):
        """1 for a positive sample of a problem, -1 for a negative one, 0 for one that it does not have:
        ndarray of int, shape (n, n_problems)."""
        return np.where(codes[:, None] == self.positive, 1, -1)

    def decision(self, scores):
        """What `decision_function` returns, given the scores of the problems, shape (n, n_problems)."""
        return scores.ravel() if self.n_problems == 1 else scores

    def predict(self, scores, classes):
        """The labels of samples, given the scores of the problems: ndarray, shape (n,)."""
        return labels_of_scores(self.decision(scores), classes)

    def gathered(self, values, codes):
        """Arrays of one number for each sample of a problem, in one array: (n_dual_rows, m)."""
        return np.array(values)

    def of_problem(self, gathered, codes, index):
        """What `gathered` holds of one problem: ndarray, one number for each of its samples."""
        return gathered[index]

    def sums(self, products, dual_coef, codes):
        """The sums over support vectors of each problem: ndarray of float64, shape (n, n_problems).

        Parameters
        ----------
        products : ndarray of float64, shape (n_support, n)
        dual_coef : ndarray of float64, shape (n_dual_rows, n_support)
        codes : ndarray of int, shape (n_support,)
            Classes of the support vectors.
        """
        return products.T @ dual_coef.T


class OneVsOne:
    """One problem for each pair of classes, with the samples of both; the first one is positive.

    The samples of a pair are sorted by class, so that pairs share blocks of the kernel matrix.

    Dual variables have one row less than there are classes: a sample of class c is in n_classes - 1
    pairs, and its row r is that of the pair with the r-th of the other classes.
    """

    has_pairs = True

    def __init__(self, n_classes):
        self.n_classes, self.n_dual_rows = n_classes, n_classes - 1
        self.pairs = list(combinations(range(n_classes), 2))
        self.n_problems = len(self.pairs)

    def labels(self, classes):
        """The two classes of each problem, the positive one first: list of tuple."""
        labels = classes.tolist()
        return [(labels[first], labels[second]) for first, second in self.pairs]

    def names(self, classes):
        """What messages call the problems: list of str."""
        return [f"classes {first!r} and {second!r}" for first, second in self.labels(classes)]

    def binary(self, training_set, index):
        """A binary problem: the TrainingSet of its samples, and the code of its positive class."""
        return training_set.of_classes(self.pairs[index]), 0

    def binary_with_same_rows(self, training_set, index):
        """The same, over the rows of the training set: products with all its samples are known."""
        return training_set.of_classes(self.pairs[index], same_rows=True), 0

    def is_absent(self, index, absent):
        """See `OneVsRest.is_absent`."""
        return not set(absent).isdisjoint(self.pairs[index])

    def set_absent(self, values, absent, offset):
        """See `OneVsRest.set_absent`: a class with samples wins all pairs with those without."""
        for index, (first, _) in enumerate(self.pairs):
            if self.is_absent(index, absent):
                values[index] = -offset if first in absent else offset

    def signs(self, codes):
        """1 for a positive sample of a problem, -1 for a negative one, 0 for one that it does not have:
        ndarray of int, shape (n, n_problems)."""
        first, second = np.transpose(self.pairs)
        return (codes[:, None] == first).astype(int) - (codes[:, None] == second)

    def decision(self, scores):
        """What `decision_function` returns, given the scores of the problems, shape (n, n_problems).

        Returns
        -------
        ndarray of float64, shape (n, n_classes)
            The votes for each class, and, as less than half a vote, the sum of its scores in all pairs.
        """
        sums = scores @ self.signs(np.arange(self.n_classes)).T
        return self._votes(scores) + sums / (3 * (np.abs(sums) + 1))

    def predict(self, scores, classes):
        """The labels of samples, given the scores of the problems: ndarray, shape (n,).

        The class of the most votes; of equals the first one, as SVC's.
        """
        return classes[self._votes(scores).argmax(axis=1)]

    def _votes(self, scores):
        """The number of pairs that each class wins: ndarray of float64, shape (n, n_classes)."""
        votes = np.zeros((len(scores), self.n_classes))
        for score, (first, second) in zip(scores.T, self.pairs, strict=True):
            wins = score > 0
            votes[:, first] += wins
            votes[:, second] += ~wins
        return votes

    def gathered(self, values, codes):
        """Arrays of one number for each sample of a problem, in one array: (n_dual_rows, m).

        Parameters
        ----------
        values : list of ndarray of float64
            For each problem, of its own samples, or of all.
        codes : ndarray of int, shape (m,)
            Classes of all samples; -1 for one of none.
        """
        result = np.zeros((self.n_dual_rows, len(codes)))
        of_class = [np.flatnonzero(codes == code) for code in range(self.n_classes)]
        for (first, second), of_pair in zip(self.pairs, values, strict=True):
            rows, columns = _places(of_class[first], of_class[second], first, second)
            result[rows, columns] = of_pair[columns] if len(of_pair) == len(codes) else of_pair
        return result

    def of_problem(self, gathered, codes, index):
        """What `gathered` holds of one problem: ndarray, one number for each of its samples."""
        pair = self.pairs[index]
        return gathered[_places(*(np.flatnonzero(codes == code) for code in pair), *pair)]

    def sums(self, products, dual_coef, codes):
        """The sums over support vectors of each problem: see `OneVsRest.sums`."""
        of_class = [
            dual_coef[:, codes == code] @ products[codes == code] for code in range(self.n_classes)
        ]
        sums = [of_class[first][second - 1] + of_class[second][first] for first, second in self.pairs]
        return np.stack(sums, axis=1)


def _places(of_first, of_second, first, second):
    """Where `OneVsOne.gathered` has the numbers of a pair: rows and columns, in order of its samples.

    Parameters
    ----------
    of_first, of_second : ndarray of int
        The samples of the two classes.
    first, second : int
        Their codes.
    """
    rows = np.repeat([second - 1, first], [len(of_first), len(of_second)])
    return rows, np.concatenate([of_first, of_second])


Scheme = OneVsRest | OneVsOne


@functools.cache  # it is asked for in the fit of each pair
def scheme_of(multi_class, n_classes):
    """The scheme of so many classes: OneVsRest or OneVsOne.

    Parameters
    ----------
    multi_class : {"ovr", "ovo"}
    n_classes : int
    """
    return OneVsOne(n_classes) if multi_class == "ovo" and n_classes > 2 else OneVsRest(n_classes)


def fitted_scheme(classifier):
    """The scheme of a fitted classifier, whatever its parameters are now: OneVsRest or OneVsOne."""
    return scheme_of("ovo" if hasattr(classifier, "pairs_") else "ovr", len(classifier.classes_))
