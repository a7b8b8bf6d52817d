"""The main classifier: maximum margins and support vector machines, with the fastest solver."""

import math

from margins.estimators.algorithm import PlannedAlgorithm
from margins.estimators.base import BaseMarginClassifier
from margins.estimators.continuation import DualWarmStartMixin
from margins.estimators.partitioned import fit_in_partitions, takes_partitions
from margins.solvers.explanation import explanation_of


class MarginClassifier(DualWarmStartMixin, PlannedAlgorithm, BaseMarginClassifier):
    """Linear and kernel classifier with a proof of accuracy, trained by the fastest solver.

    It solves the same problems as `LinearSVC` and `SVC` (squared hinge loss, hinge loss, hard margin) to
    an accuracy that is proven when the fit ends. A planner chooses the solvers by the size of the data,
    the loss and the accuracy. `explain` shows its choice, with reasons, before the fit; `solver_` and
    `phases_` show afterwards which solvers ran.

    By default the intercept is penalised, as in `LinearSVC`: it counts as one more weight, also in the
    margin. With `penalize_intercept=False` it is free, as in `SVC`, and with `C=inf` the maximum margin
    is the distance of the closest sample from the hyperplane.

    Several classes make one problem for each class against the rest, as in `LinearSVC`, or, with
    ``multi_class="ovo"``, one for each pair of classes, as in `SVC`. Pairs vote, and `decision_function`
    has SVC's values. Certificates and rows of `coef_` are in the order of the attribute `pairs_`, which
    lists the positive class first. `dual_coef_` then has `n_classes` - 1 rows, as in SVC: row r of a
    sample belongs to the pair of its class and the r-th of the other classes.

    After Newton steps, `coef_` and `dual_coef_` are separate solutions, of the primal and of the dual
    problem: half of the squared distance of `coef_` from the sum of alpha_k y_k is at most the
    difference of their objectives.

    Samples that are never all in memory at once (chunks, large memory maps, dask arrays and data frames)
    are fitted by Newton steps on sums over partitions (`margins.partitions`). `n_iter_` then counts
    passes, and there is no `dual_coef_`.

    **Use it for** the optimum of LinearSVC's or SVC's problem, with a proof, in the least time.
    **Avoid it for** comparing the rules of papers: it runs whichever solver is fastest.

    **Source**: Panagiotakopoulos & Tsampouka (2010), Keerthi & DeCoste (2005), Yan & Li (2020), Notay
    (2000), Lin, Weng & Keerthi (2008); the docstrings of the solvers, in `margins.solvers`, say more.

    See Also
    --------
    margins.get : The published algorithms, each with the rules of its paper.
    margins.data.chunks.Chunks : Samples in chunks.

    Examples
    --------
    >>> import margins
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> classifier = margins.MarginClassifier(C=1, eps=1e-3).fit(X / X.max(axis=0), y)
    >>> classifier.certificates_[0].fraction >= 0.999
    True
    >>> classifier.solver_
    'newton'
    """

    def why_not_in_partitions(self):
        if math.isinf(self.C):
            return "C", "finite", self.C
        if self.solver not in ("auto", "newton"):
            return "solver", "'auto' or 'newton'", self.solver
        if self.multi_class != "ovr":
            return "multi_class", "'ovr'", self.multi_class
        return super().why_not_in_partitions()

    def _fit_anywhere(self, X, y, sample_weight):
        if takes_partitions(self, X):
            return fit_in_partitions(self, X, y, sample_weight)
        return self._fit_in_memory(X, y, sample_weight)

    def explain(self, X, y, sample_weight=None):
        """Show what `fit` would do with these samples, and why, without training anything.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (n_samples, n_features)
        y : array-like, shape (n_samples,)
        sample_weight : array-like of float, shape (n_samples,), optional

        Returns
        -------
        margins.solvers.explanation.Explanation
            The candidate solvers with predicted costs, the plan, and the reason. Print it to read it.

        Raises
        ------
        ValueError
            If `fit` would raise it, or if `solver` is not applicable.

        Examples
        --------
        >>> import margins
        >>> from sklearn.datasets import load_breast_cancer
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> margins.MarginClassifier(loss="hinge").explain(X / X.max(axis=0), y).solver
        'unlearning + newton + conjugate'
        """
        self.check_parameters()
        if takes_partitions(self, X):
            raise ValueError(
                f"X of {self._display_name('explain')} must be in memory. Got a {type(X).__name__}, "
                "which fit reads in partitions and always solves by Newton steps."
            )
        training_set = self.training_set(X, y, sample_weight)
        specification = self.specification(training_set.sqnorms)
        scheme, absent = training_set.scheme, training_set.samples.absent
        index = next(i for i in range(scheme.n_problems) if not scheme.is_absent(i, absent))
        of_problem, positive = scheme.binary(training_set, index)
        problem = of_problem.problem(positive, specification)
        plan = self.plan(problem, specification, self._is_warm)
        kernel = self.kernel if isinstance(self.kernel, str) else repr(self.kernel)
        return explanation_of(training_set, of_problem, problem, specification, plan, kernel)
