"""Bounds on the scores of samples in models without them, for all binary problems of a classifier.

    classifier, samples -> LeaveOutProblems -> ScoreBounds -> the labels that are possible

Bounds in the binary problems (`margins.decremental`) are narrowed only if they leave more than one label
possible.
"""

import math

import numpy as np
from scipy import sparse

from margins.data.validation import weighted_samples
from margins.decremental.left_out import MarginBounds
from margins.decremental.problem import BoxProblem, Features, Gram
from margins.decremental.solution import solution_of
from margins.kernels import LINEAR
from margins.linalg.memory import available_bytes, text_of_bytes
from margins.linalg.threads import on_one_thread
from margins.training.along_c import AlongC, paths_of

# Relative duality gap of the fits from which exact solutions are computed.
EPS = 1e-9
# Sparse features with at least this share of nonzero values are made dense: products are faster.
MIN_DENSITY = 1 / 16
# With a free intercept, dense features are centred if half of all |x|^2 then shrink by this factor.
MIN_SHRINKAGE = 10.0
# Number of matrices of all pairs of samples that a kernel problem needs at least.
N_MATRICES = 2


class LeaveOutProblems:
    """A training set whose samples will be left out in groups, numbered 0, 1, ..."""

    def __init__(self, classifier, valid, sample_weight, groups, caller):
        pairwise, class_weight = classifier.kernel == "precomputed", classifier.class_weight
        samples = weighted_samples(caller, valid, sample_weight, class_weight, pairwise=pairwise)
        if np.ptp(groups[samples.kept]) == 0:
            raise ValueError(
                f"groups of {caller} must contain at least 2 groups with samples of positive weight. "
                f"Got 1: the group of sample {samples.kept[0]}."
            )
        is_free = classifier.fit_intercept and not classifier.penalize_intercept
        centre = _centre(samples.X) if is_free and classifier.kernel == "linear" else None
        if centre is not None:
            valid, samples = valid._replace(X=valid.X - centre), samples._replace(X=samples.X - centre)
        self.classifier, self.valid, self.groups = classifier, valid, groups
        self.training_set = classifier.training_set_of(samples)  # those of positive weight
        self.scheme = self.training_set.scheme
        order = np.argsort(groups, kind="stable")
        self.members = np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)
        self._inner = self._inner_products(caller)
        self.n_refits = 0

    @on_one_thread
    def _inner_products(self, caller):
        X, training_set = self.valid.X, self.training_set
        m, specification = X.shape[0], self.specification()
        is_linear = training_set.kernel == LINEAR
        has_free_intercept = specification.has_free_intercept
        rho = 0.0 if has_free_intercept else math.sqrt(specification.sq_intercept_scaling)
        if is_linear and X.shape[1] < m:
            X = X.astype(np.float64, copy=False)
            if sparse.issparse(X) and X.nnz >= MIN_DENSITY * m * X.shape[1]:
                X = X.toarray()
            return Features(X if sparse.issparse(X) else np.ascontiguousarray(X), rho)
        available = available_bytes()
        if available is not None and N_MATRICES * 8 * m * m > available:
            raise MemoryError(
                f"The matrix of all pairs of the {m} samples of {caller} must fit into memory "
                f"{N_MATRICES} times: {text_of_bytes(8 * m * m)}. Got {text_of_bytes(available)} of "
                "free memory. Use fewer samples, or folds."
            )
        if is_linear:
            products = X.astype(np.float64) @ X.astype(np.float64).T
            matrix = products.toarray() if sparse.issparse(products) else products
        else:
            indefinite = training_set.rows.blocks.indefinite
            if indefinite is not None:
                raise ValueError(
                    f"kernel of {caller} must be positive semidefinite: nothing can be proven of "
                    f"another one. Got {training_set.kernel.label}: {indefinite}."
                )
            matrix = np.array(training_set.kernel.training_block(X, np.arange(m)), dtype=np.float64)
        matrix += rho * rho
        return Gram(matrix, rho)

    def specification(self, C=None):
        """Return the specification of the problems to solve (Specification)."""
        specification = self.classifier.specification(self.training_set.sqnorms)
        return specification._replace(eps=EPS, warns=False, C=specification.C if C is None else C)

    def problem(self, index, specification):
        """Return the dual problem of one binary problem, over all samples (BoxProblem)."""
        samples = self.training_set.samples
        penalties = np.zeros(len(self.groups))
        penalties[samples.kept] = self.training_set.penalties(specification)
        signs = self.scheme.signs(self.valid.codes, slice(index, index + 1))[:, 0].astype(np.float64)
        penalties[signs == 0] = 0.0
        signs[signs == 0] = 1.0
        is_smooth = specification.loss_of(1.0).is_smooth
        return BoxProblem(self._inner, signs, penalties, is_smooth, specification.has_free_intercept)

    def solve(self, Cs):
        """Return nearly optimal dual variables of all binary problems for each C."""
        paths = paths_of(self.training_set, self.specification(), self.classifier, Cs)
        everywhere = np.arange(len(self.training_set.samples.codes))

        def result_of(index, outcome):
            return self._nearly_optimal(outcome, index, everywhere)

        return paths.train_all(self.classifier.random_state, Cs, result_of, self.classifier.n_jobs)

    def refit(self, index, group, specification):
        """Return the same for one binary problem, fitted without a group."""
        self.n_refits += 1
        samples = self.training_set.samples
        stays = np.flatnonzero(~np.isin(samples.kept, group))
        weight = samples.weight[stays] if isinstance(samples.weight, np.ndarray) else samples.weight
        paths = AlongC(self.training_set.part(stays, weight), specification, self.classifier.plan)
        places = np.arange(len(samples.codes)) if self.training_set.is_kernel else stays
        found = []
        paths.train(
            index,
            0,
            [specification.C],
            lambda _, outcome: found.append(
                self._nearly_optimal(outcome, index, places, same_rows=True)
            ),
            same_rows=True,
        )
        return found[0]

    def _nearly_optimal(self, outcome, index, places, same_rows=False):
        """Return the dual variables of a run over some samples, 0 for the others, and its intercept."""
        if outcome.loss is None:
            return None
        samples, dual = self.training_set.samples, outcome.weights.dual * outcome.dual_scale
        if self.scheme.has_pairs and not (self.training_set.is_kernel and same_rows):
            codes = samples.codes[places]  # a pair has the samples of two classes, sorted by class
            places = np.concatenate([places[codes == code] for code in self.scheme.pairs[index]])
        alpha = np.zeros(len(self.groups))
        alpha[samples.kept[places]] = dual
        return alpha, outcome.intercept(self.training_set.centre)


class ScoreBounds:
    """Bounds on the scores of all samples, each in the model without the sample or its group.

    Scores of a class without samples are infinite; `with_all` has those of the model with all samples.
    """

    def __init__(self, leaving, specification, solutions):
        self.leaving, self.specification, self.scheme = leaving, specification, leaving.scheme
        self._fixed = _fixed_scores(leaving)
        shape = self._fixed.shape
        self.lower, self.upper = np.full(shape, -np.inf), np.full(shape, np.inf)
        self.scores, self.with_all = np.zeros(shape), np.zeros(shape)
        self._problems = [self._bounded(index, solution) for index, solution in enumerate(solutions)]

    @on_one_thread
    def _bounded(self, index, nearly_optimal):
        """Return the MarginBounds of one binary problem, or None if it has no samples of one class."""
        if nearly_optimal is None:
            self.with_all[:, index] = self._fixed[:, index]
            self._take(index, None)
            return None
        solution = solution_of(self.leaving.problem(index, self.specification), *nearly_optimal)
        if solution is None:
            raise ValueError(
                f"The kernel matrix of {self.specification.name} must be positive semidefinite in "
                "double precision. Got one of support vectors that is not: nothing can be proven."
            )
        problem = MarginBounds(solution, self.leaving.groups)
        self.with_all[:, index] = solution.problem.signs * problem.with_all
        self._finish(index, problem)
        return problem

    def _take(self, index, problem):
        """Copy the bounds on the margins of one binary problem, as bounds on scores."""
        if problem is not None:
            positive = problem.solution.problem.signs > 0
            # A bound that is not a number must not count as a proof.
            self.lower[:, index] = np.fmax(np.where(positive, problem.lower, -problem.upper), -np.inf)
            self.upper[:, index] = np.fmin(np.where(positive, problem.upper, -problem.lower), np.inf)
            self.scores[:, index] = np.where(positive, problem.margin, -problem.margin)
        fixed = ~np.isnan(self._fixed[:, index])
        for values in (self.lower, self.upper, self.scores):
            values[fixed, index] = self._fixed[fixed, index]

    def _finish(self, index, problem):
        """Copy the bounds, and release memory that the other binary problems may need."""
        self._take(index, problem)
        if self.scheme.n_problems > 1:
            problem.release()

    def possible(self):
        """Return which classes the bounds leave possible (ndarray of bool, shape (m, n_classes))."""
        return possible_labels(self.scheme, self.lower, self.upper)

    @on_one_thread
    def close(self, is_wanted=None):
        """Narrow the bounds until every label is proven, or further work does not help."""
        wanted = np.zeros(len(self.lower), dtype=bool) if is_wanted is None else is_wanted
        left = [set() for _ in self._problems]
        for index, problem in enumerate(self._problems):
            if problem is not None:
                problem.step(self._groups_of(self._needed(index) & ~wanted & ~problem.is_settled, index))
                self._take(index, problem)
                groups = self._groups_of((self._needed(index) | wanted) & ~problem.is_settled, index)
                left[index] = {int(self.leaving.groups[g[0]]) for g in problem.follow(groups)}
                self._finish(index, problem)
        for index, problem in enumerate(self._problems):
            if problem is not None:
                is_left = wanted & np.isin(self.leaving.groups, list(left[index]))
                for group in self._groups_of(self._needed(index) | is_left, index):
                    problem.solve(group, *self.leaving.refit(index, group, self.specification))
                self._take(index, problem)
                problem.release()

    @on_one_thread
    def estimate(self):
        """Estimate the scores that have no exact solution, by one step of the solution."""
        for index, problem in enumerate(self._problems):
            if problem is not None:
                problem.estimate()
                self._finish(index, problem)

    def _needed(self, index):
        """Return for which samples narrower bounds in a problem may exclude labels (ndarray of bool)."""
        lower, upper = self.lower[:, index], self.upper[:, index]
        if self.scheme.n_problems == 1 or self.scheme.has_pairs:
            needed = (lower <= 0) & (upper > 0)
        else:
            needed = (upper >= self.lower.max(axis=1)) & (upper > lower)
        rows = np.flatnonzero(needed)  # few, and votes take a look at all pairs
        if len(rows):
            possible = possible_labels(self.scheme, self.lower[rows], self.upper[rows])
            needed[rows] = possible.sum(axis=1) > 1
        return needed

    def _groups_of(self, needed, index):
        """Return the groups with a needed sample whose score is not fixed (list of ndarray of intp)."""
        numbers = np.unique(self.leaving.groups[needed & np.isnan(self._fixed[:, index])])
        return [self.leaving.members[number] for number in numbers]


def _centre(X):
    """Return the medians of dense features if inner products keep more digits without them, else None.

    A free intercept makes up for them. Differences are exact where the centre dominates (Sterbenz).
    """
    if sparse.issparse(X):
        return None
    centre = np.median(X, axis=0).astype(np.float64)
    before, after = _sqnorms(X), _sqnorms(X - centre)
    is_shorter = MIN_SHRINKAGE * after <= before
    return centre if 2 * is_shorter.sum() >= len(X) and after.any() else None


def _sqnorms(X):
    return np.einsum("ij,ij->i", X, X, dtype=np.float64)


def possible_labels(scheme, lower, upper):
    """Return which classes scores of problems between bounds may predict (ndarray of bool)."""
    if scheme.n_problems == 1:
        return np.column_stack([lower[:, 0] <= 0, upper[:, 0] > 0])
    if scheme.has_pairs:
        lower, upper = _votes(lower > 0, upper > 0, scheme)
    # If scores are equal, the first class is predicted.
    before = np.maximum.accumulate(lower, axis=1)[:, :-1]
    after = np.maximum.accumulate(lower[:, ::-1], axis=1)[:, -2::-1]
    possible = np.isfinite(upper) | (upper > 0)
    possible[:, 1:] &= upper[:, 1:] > before
    possible[:, :-1] &= upper[:, :-1] >= after
    return possible


def _votes(wins, may_win, scheme):
    """Return the least and the largest number of pairs a class may win (ndarrays, (m, n_classes))."""
    pairs, ones = np.arange(scheme.n_problems), np.ones(scheme.n_problems, dtype=int)
    of_first, of_second = (
        sparse.csr_array((ones, (codes, pairs)), (scheme.n_classes, len(pairs)))
        for codes in np.transpose(scheme.pairs)
    )
    least = of_first @ wins.T + of_second @ ~may_win.T
    most = of_first @ may_win.T + of_second @ ~wins.T
    return least.T, most.T


def _fixed_scores(leaving):
    """Return the scores that are known because a class would have no samples, else nan."""
    scheme, groups = leaving.scheme, leaving.groups
    samples, n_groups = leaving.training_set.samples, len(leaving.members)
    counts = np.zeros((n_groups, scheme.n_classes))
    np.add.at(counts, (groups[samples.kept], samples.codes), 1)
    missing = (np.bincount(samples.codes, minlength=scheme.n_classes) == counts)[groups]
    fixed = np.full((len(groups), scheme.n_problems), np.nan)
    if scheme.has_pairs:
        for index, (a, b) in enumerate(scheme.pairs):
            fixed[missing[:, b], index] = np.inf
            fixed[missing[:, a], index] = -np.inf
    else:
        for index, code in enumerate(scheme.positive):
            others = np.delete(missing, code, axis=1).all(axis=1)
            fixed[others, index] = np.inf
            fixed[missing[:, code], index] = -np.inf
    return fixed
