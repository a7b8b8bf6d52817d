"""The main classifier: maximum margins and support vector machines, with the fastest solver."""

import math
from typing import Literal

import numpy as np
from scipy import sparse

from margins.data.centring import centre_of
from margins.data.validation import is_plain
from margins.estimators.base import BaseMarginClassifier
from margins.estimators.partitioned import fit_in_partitions, takes_partitions
from margins.estimators.warm_start import DualWarmStartMixin
from margins.kernels import LINEAR
from margins.kernels.gram import gram_rows
from margins.losses import LOSSES, Loss
from margins.parameters import BOOLEAN, AnyOf, Interval, OneOf, SubclassOf, parameter
from margins.solvers.auto import SOLVERS, is_small_hessian, plan, reads_gram, rounds_gram
from margins.solvers.base import Problem
from margins.solvers.explanation import explanation_of
from margins.solvers.newton.newton import NewtonStart
from margins.solvers.plans import Plan
from margins.solvers.specification import Specification

# A free intercept adds this share to the squared norm of the median sample.
SHARE_OF_INTERCEPT = 0.01


class MarginClassifier(DualWarmStartMixin, BaseMarginClassifier):
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

    loss: str | type[Loss] = parameter(  # type: ignore[assignment]
        AnyOf(OneOf(*LOSSES), SubclassOf(Loss)),
        "'squared_hinge': the maximum margin with squared slacks, LinearSVC's default problem. "
        "'hinge': the L1-SVM, SVC's problem. A subclass of margins.losses.Loss: any other loss. With "
        "C = inf, both names mean the hard margin.",
        default="squared_hinge",
    )
    eps: float = parameter(
        Interval(0, 1, "right"),
        "Accuracy to prove: margin >= (1 - eps) * maximum margin; with the hinge loss, a relative "
        "duality gap <= eps.",
        default=0.01,
    )
    solver: Literal[
        "auto", "newton", "decomposition", "interior-point", "conjugate", "unlearning", "dcd"
    ] = parameter(
        OneOf("auto", *SOLVERS),
        "'auto': the solvers expected to prove eps soonest. 'newton': Newton steps on the primal "
        "objective; linear kernel, finite C. 'decomposition': subproblems of working sets; with "
        "kernels. 'interior-point': Newton steps on the whole kernel matrix, of at most 2000 samples. "
        "'conjugate': passes over working sets, alternating with steps along conjugate directions; "
        "finite C. 'unlearning': the rules of the margin perceptron with unlearning. 'dcd': dual "
        "coordinate descent.",
        default="auto",
    )

    penalize_intercept: bool = parameter(
        BOOLEAN,
        "True: the intercept is penalised like a weight, as in LinearSVC, and the margin counts it as "
        "one. False: it is free, as in SVC, and with C = inf the margin of a certificate is the "
        "distance of the closest sample from the hyperplane.",
        default=True,
    )

    multi_class: Literal["ovr", "ovo"] = parameter(
        OneOf("ovr", "ovo"),
        "Several classes: 'ovr', one problem for each class against all others, as in LinearSVC; "
        "'ovo', one for each pair of classes, which vote, as in SVC. Pairs make more and smaller "
        "problems; with a linear kernel they often classify more samples correctly.",
        default="ovr",
    )

    prefers_cached = True  # for `decomposition`: see `Training`

    def check_parameters(self) -> None:
        if self.max_iter == -1:
            raise ValueError(
                f"max_iter of {self._display_name()} must be an integer in [1, inf). Got -1. In SVC "
                "this means no limit. Omit it, or set a large number: a fit ends when eps is proven."
            )
        super().check_parameters()
        if not self.penalize_intercept and self.intercept_scaling != 1:
            raise ValueError(
                f"intercept_scaling of {self._display_name()} must be 1 with penalize_intercept=False: "
                f"it scales the penalty of the intercept. Got {self.intercept_scaling!r}."
            )

    def why_not_in_partitions(self):
        if math.isinf(self.C):
            return "C", "finite", self.C
        if self.solver not in ("auto", "newton"):
            return "solver", "'auto' or 'newton'", self.solver
        if self.multi_class != "ovr":
            return "multi_class", "'ovr'", self.multi_class
        return super().why_not_in_partitions()

    def specification(self, sqnorms, continues=False):
        specification = super().specification(sqnorms, continues)
        # Where C |x|^2 is small, `eps` alone would prove nothing: docs/certificates.md.
        improvement = 1 - math.sqrt(self.eps)
        specification = specification._replace(
            eps=self.eps, required_improvement=improvement, keep_dual=True
        )
        if self.penalize_intercept or not self.fit_intercept:
            return specification
        sq_intercept_scaling = 0.0
        if self._is_linear:
            # The solution does not depend on it: it scales how far an update moves the intercept.
            sq_intercept_scaling = (
                1.0 if sqnorms is None else SHARE_OF_INTERCEPT * float(np.median(sqnorms)) or 1.0
            )
        return specification._replace(has_free_intercept=True, sq_intercept_scaling=sq_intercept_scaling)

    def phases(self, run):
        """See `BaseMarginClassifier.phases`."""
        return self.plan(run.problem, run.specification, run.is_warm).phases_of(run)

    def plan(
        self,
        problem: Problem,
        specification: Specification,
        is_warm: bool = False,
        start: NewtonStart | None = None,
    ) -> Plan:
        """Return the plan of a binary problem.

        Parameters
        ----------
        problem : margins.solvers.base.Problem
        specification : margins.solvers.specification.Specification
        is_warm : bool
            True: a run starts from dual variables that are expected to be near the solution.
        start : margins.solvers.newton.newton.NewtonStart, optional
            The start of the Newton steps, if the plan begins with them.

        Returns
        -------
        margins.solvers.plans.Plan
        """
        return plan(problem, specification, self.solver, is_warm=is_warm, start=start)

    def _fit(self, X, y, sample_weight):
        if not is_plain(X) and takes_partitions(self, X):
            return fit_in_partitions(self, X, y, sample_weight)
        return self._fit_in_memory(X, y, sample_weight)

    def _rows(self, X, kernel):
        if kernel == LINEAR and reads_gram(X, self.solver):
            return gram_rows(X, coarse=rounds_gram(self.eps))
        return super()._rows(X, kernel)

    def centre(self, X):
        """See `BaseMarginClassifier.centre`; a free intercept allows any."""
        if self.penalize_intercept or not self.fit_intercept:
            return None
        if self.solver in ("auto", "newton"):
            n_stored = X.nnz if sparse.issparse(X) else X.size
            if is_small_hessian(X.shape[1] + 1, X.shape[0], lambda n: n_stored >= n):
                return None  # Newton steps centre their Hessian, and copy nothing
        return centre_of(X)

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
