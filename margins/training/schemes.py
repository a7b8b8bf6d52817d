"""Schemes that turn several classes into binary problems: one-vs-rest, or one-vs-one.

A scheme decides which samples a problem has and which of them are positive, how the scores of problems
make a prediction, and how dual variables are stored. Two classes always make one problem, in which the
second class is positive: `scheme_of` returns `OneVsRest` for them.

**Source**: Rifkin & Klautau (2004), In defense of one-vs-all classification; Hsu & Lin (2002), A
comparison of methods for multi-class support vector machines; Chang & Lin (2011), LIBSVM, section 7, for
the order of pairs, the votes, and the layout of dual variables.
"""

import functools
from itertools import combinations

import numpy as np


def positive_codes(n_classes):
    """Return the codes of the positive classes of all problems; two classes make one problem."""
    return [1] if n_classes == 2 else list(range(n_classes))


def labels_of_scores(scores, classes):
    """Return the class with the largest score; of two classes, the second if its score is positive."""
    return classes[(scores > 0).astype(int) if len(classes) == 2 else scores.argmax(axis=-1)]


class OneVsRest:
    """Scheme with one problem for each class, against all other classes.

    n_dual_rows: rows of an array that holds the dual variables of all problems.
    """

    has_pairs = False

    def __init__(self, n_classes):
        self.n_classes = n_classes
        self.positive = positive_codes(n_classes)
        self.n_problems = self.n_dual_rows = len(self.positive)

    def labels(self, classes):
        """Return the positive class of each problem (list)."""
        labels = classes.tolist()
        return [labels[code] for code in self.positive]

    def names(self, classes):
        """Return the names of the problems in messages (list of str; empty for a single problem)."""
        labels = classes.tolist()
        return [self.name(labels, index) for index in range(self.n_problems)]

    def name(self, labels, index):
        """Return the name of one problem, from the list of the labels."""
        return "" if self.n_problems == 1 else f"class {labels[self.positive[index]]!r}"

    def binary(self, training_set, index, same_rows=False):
        """Return the TrainingSet of a binary problem, and the code of its positive class.

        `same_rows`: over the rows of the training set, with products for all its samples.
        """
        return training_set, self.positive[index]

    def is_absent(self, index, absent):
        """Return whether a class of the problem is in `absent`, the classes without samples."""
        return self.positive[index] in absent

    def set_absent(self, values, absent, offset):
        """Set the values of problems without samples, so that no prediction is one of their classes.

        Their scores become the mean of all other scores minus an offset, so another score is larger.
        """
        if absent:
            others = np.delete(values, absent, axis=0)
            values[list(absent)] = others.mean(axis=0) - offset

    def signs(self, codes, problems=slice(None)):
        """Return the sign of each sample in each problem, 0 if it has none (int, (n, n_problems))."""
        return np.where(codes[:, None] == self.positive[problems], 1, -1)

    def decision(self, scores):
        """Return the result of `decision_function` from the scores of the problems."""
        return scores.ravel() if self.n_problems == 1 else scores

    def predict(self, scores, classes):
        """Return the predicted labels from the scores of the problems (ndarray, shape (n,))."""
        return labels_of_scores(self.decision(scores), classes)

    def gathered(self, values, codes):
        """Gather numbers for the samples of all problems in one array, shape (n_dual_rows, m)."""
        return np.array(values)

    def of_problem(self, gathered, codes, index):
        """Return the numbers of one problem in a gathered array (ndarray, one for each sample)."""
        return gathered[index]

    def sums(self, products, dual_coef, codes):
        """Return the sums over support vectors of all problems (ndarray, shape (n, n_problems))."""
        return products.T @ dual_coef.T


class OneVsOne:
    """Scheme with one problem for each pair of classes, the first of which is positive.

    Its methods are those of `OneVsRest`; `labels` returns pairs of labels. The samples of a pair are
    sorted by class, so that pairs share blocks of the kernel matrix.

    Dual variables have n_classes - 1 rows: a sample is in n_classes - 1 pairs, and its row r belongs to
    the pair of its class and the r-th of the other classes.
    """

    has_pairs = True

    def __init__(self, n_classes):
        self.n_classes, self.n_dual_rows = n_classes, n_classes - 1
        self.pairs = list(combinations(range(n_classes), 2))
        self.n_problems = len(self.pairs)

    def labels(self, classes):
        labels = classes.tolist()
        return [(labels[first], labels[second]) for first, second in self.pairs]

    names = OneVsRest.names

    def name(self, labels, index):
        first, second = self.pairs[index]
        return f"classes {labels[first]!r} and {labels[second]!r}"

    def binary(self, training_set, index, same_rows=False):
        return training_set.of_classes(self.pairs[index], same_rows), 0

    def is_absent(self, index, absent):
        return not set(absent).isdisjoint(self.pairs[index])

    def set_absent(self, values, absent, offset):
        # A class with samples wins all pairs with a class without.
        for index, (first, _) in enumerate(self.pairs if absent else ()):  # for each pair's model, too
            if self.is_absent(index, absent):
                values[index] = -offset if first in absent else offset

    def signs(self, codes, problems=slice(None)):
        first, second = np.transpose(self.pairs[problems])
        return (codes[:, None] == first).astype(int) - (codes[:, None] == second)

    def decision(self, scores):
        sums = scores @ self.signs(np.arange(self.n_classes)).T
        return self._votes(scores) + sums / (3 * (np.abs(sums) + 1))

    def predict(self, scores, classes):
        return classes[self._votes(scores).argmax(axis=1)]  # the first class wins a tie, as in SVC

    def _votes(self, scores):
        """Return the number of pairs that each class wins (ndarray of float64, shape (n, n_classes))."""
        votes = np.zeros((len(scores), self.n_classes))
        for score, (first, second) in zip(scores.T, self.pairs, strict=True):
            wins = score > 0
            votes[:, first] += wins
            votes[:, second] += ~wins
        return votes

    def gathered(self, values, codes):
        result = np.zeros((self.n_dual_rows, len(codes)))
        samples = [np.flatnonzero(codes == code) for code in range(self.n_classes)]
        for (first, second), pair_values in zip(self.pairs, values, strict=True):
            of_first, of_second = samples[first], samples[second]
            if len(pair_values) > len(of_first) + len(of_second):  # over the rows of all samples
                pair_values = pair_values[np.concatenate([of_first, of_second])]
            result[second - 1, of_first] = pair_values[: len(of_first)]
            result[first, of_second] = pair_values[len(of_first) :]
        return result

    def of_problem(self, gathered, codes, index):
        first, second = self.pairs[index]
        values = gathered[second - 1, codes == first], gathered[first, codes == second]
        return np.concatenate(values)

    def sums(self, products, dual_coef, codes):
        masks = [codes == code for code in range(self.n_classes)]
        of_classes = [dual_coef[:, mask] @ products[mask] for mask in masks]
        sums = [of_classes[i][j - 1] + of_classes[j][i] for i, j in self.pairs]
        return np.stack(sums, axis=1)


Scheme = OneVsRest | OneVsOne


@functools.cache  # the fit of each pair calls it
def scheme_of(multi_class, n_classes):
    """Return the scheme for `n_classes` classes (OneVsRest or OneVsOne)."""
    return OneVsOne(n_classes) if multi_class == "ovo" and n_classes > 2 else OneVsRest(n_classes)


def fitted_scheme(classifier):
    """Return the scheme of a fitted classifier, even if its parameters have changed since the fit."""
    return scheme_of("ovo" if hasattr(classifier, "pairs_") else "ovr", len(classifier.classes_))
