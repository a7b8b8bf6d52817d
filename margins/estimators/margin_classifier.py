"""The flagship: maximum margins and support vector machines, by the fastest solver."""

from typing import Literal

import numpy as np

from margins.data.binary_data import augmented_sqnorms, make_binary_data, rows_of
from margins.data.validation import validate_samples
from margins.estimators.base import BaseMarginClassifier
from margins.estimators.multiclass import n_threads_within, positive_codes
from margins.estimators.partitioned import PartitionsMixin, takes_partitions
from margins.estimators.warm_start import DualWarmStartMixin
from margins.kernels import LINEAR
from margins.kernels.gram import gram_rows
from margins.kernels.selection import kernel_of
from margins.losses import LOSSES, Loss
from margins.parameters import BOOLEAN, AnyOf, Interval, OneOf, SubclassOf, parameter
from margins.solvers.auto import SOLVERS, candidates, plan
from margins.solvers.base import Problem
from margins.solvers.costs import gram_pays
from margins.solvers.explanation import Explanation
from margins.tuning import TUNING


class MarginClassifier(PartitionsMixin, DualWarmStartMixin, BaseMarginClassifier):
    """Linear and kernel classification with a proof, by the fastest solver.

    Solves the problems of `LinearSVC` and `SVC`, squared hinge loss, hinge loss and hard margin, to an
    accuracy that is proven when the fit ends. A planner chooses among all solvers of the library by the
    size of the data, the loss and the accuracy: `explain` shows before the fit which ones and why,
    `solver_` and `phases_` show after it which ones ran.

    After Newton steps `coef_` and `dual_coef_` are a primal and a dual solution of their own, each at
    the optimum: half of the squared distance of `coef_` from the sum of alpha_k y_k is at most the
    difference of their objectives.

    Samples that are not in memory together are fitted by Newton steps made of sums over partitions
    (`margins.partitions`): chunks, large memory maps, and arrays and data frames of dask. `n_iter_` then
    counts passes, and there is no `dual_coef_`.

    **Source**: the docstrings of the solvers, in `margins.solvers`.

    See Also
    --------
    margins.get : The published algorithms, each by its own rules.
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
        "'hinge': the L1-SVM, SVC's problem. With C = inf both are the hard margin. Or a subclass of "
        "margins.losses.Loss.",
        default="squared_hinge",
    )
    eps: float = parameter(
        Interval(0, 1, "right"),
        "Accuracy to prove: margin >= (1 - eps) * maximum margin; for the hinge loss, relative duality "
        "gap <= eps.",
        default=0.01,
    )
    solver: Literal["auto", "newton", "decomposition", "conjugate", "unlearning", "dcd"] = parameter(
        OneOf("auto", *SOLVERS),
        "'auto': whichever is expected to prove eps soonest. 'newton': Newton steps on the primal "
        "objective, of linear data with a finite C. 'decomposition': subproblems of working sets, of "
        "kernels. 'conjugate': passes over working sets, with steps "
        "along conjugate directions between them; a finite C. 'unlearning': the rules of the margin "
        "perceptron with unlearning. 'dcd': dual coordinate descent.",
        default="auto",
    )

    penalize_intercept: bool = parameter(
        BOOLEAN,
        "False: the intercept is not penalised, as SVC's; needs a kernel other than 'linear'. True: "
        "penalised like a weight, as LinearSVC's.",
        default=True,
    )

    _keeps_dual = True

    @property
    def _has_free_intercept(self):
        return self.fit_intercept and not self.penalize_intercept

    def _check_parameters(self):
        super()._check_parameters()
        if self._has_free_intercept and isinstance(self.kernel, str) and self.kernel == LINEAR.name:
            raise ValueError(
                f"penalize_intercept of {self._display_name()} must be True with kernel='linear', whose "
                "solvers learn the intercept as the weight of one more feature. Got False. Allowed: "
                "kernel='poly', degree=1, gamma=1, the same kernel; or a large intercept_scaling."
            )

    @property
    def _accuracy(self):
        return self.eps

    def phases(self, run):
        """See `BaseMarginClassifier.phases`."""
        return self._plan(run.problem, run.is_warm).phases_of(run)

    def _plan(self, problem, is_warm, start=None):
        return plan(
            problem,
            self.eps,
            self.solver,
            C=float(self.C),
            max_iter=self.max_iter,
            is_warm=is_warm,
            start=start,
        )

    def _reads_gram(self, X):
        """True if solvers read the Gram matrix of X."""
        return self.kernel_ == LINEAR and self.solver != "newton" and gram_pays(X)

    def _rows(self, X):
        if self._reads_gram(X):
            return gram_rows(X, coarse=self.eps >= TUNING.gram.single_precision_eps)
        rows = super()._rows(X)
        if rows.is_kernel:
            n_problems = len(positive_codes(len(self.classes_)))
            rows.blocks.n_threads = n_threads_within(self.n_jobs, n_problems)
        return rows

    def explain(self, X, y, sample_weight=None):
        """What `fit` would do with these samples, and why. Nothing is trained or changed.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (n_samples, n_features)
        y : array-like, shape (n_samples,)
        sample_weight : array-like of float, shape (n_samples,), optional

        Returns
        -------
        margins.solvers.explanation.Explanation
            The candidate solvers with predicted costs, the plan, and the reason; its `repr` is to be
            read.

        Raises
        ------
        ValueError
            As `fit` does, also if `solver` is not applicable.

        Examples
        --------
        >>> import margins
        >>> from sklearn.datasets import load_breast_cancer
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> margins.MarginClassifier(loss="hinge").explain(X / X.max(axis=0), y).solver
        'unlearning + newton + conjugate'
        """
        self._check_parameters()
        if takes_partitions(self, X):
            raise ValueError(
                f"X of {self._display_name('explain')} must be in memory. Got a {type(X).__name__}, "
                "which fit reads in partitions, by Newton steps; there is nothing to choose."
            )
        # On a clone, so that fitted attributes are neither set nor lost.
        copied = type(self)(**self.get_params(deep=False))
        return copied._explain(X, y, sample_weight, self._is_warm)

    def _explain(self, X, y, sample_weight, is_warm):
        X, y, codes = validate_samples(self, X, y)
        samples = self._weigh(X, codes, sample_weight)
        X = samples.X
        self.kernel_ = kernel_of(self, X)
        reads_gram = self._reads_gram(X)
        rows = self._rows(X)
        sqrho, is_free = self._sqrho, self._has_free_intercept
        takes_zero_rows = is_free or self._takes_zero_rows
        sqnorms = augmented_sqnorms(rows.sqnorms(), sqrho, np.isinf(self.C), takes_zero_rows)
        loss = self._loss(self._penalties(samples.weight))
        codes = positive_codes(len(self.classes_))
        positive = samples.codes == codes[0]
        data = make_binary_data(rows, sqnorms, positive, sqrho, loss.diag, np.inf, is_free)
        problem = Problem(data, loss)
        return Explanation(
            n_samples=X.shape[0],
            n_features=X.shape[1],
            n_nonzeros=int(rows_of(X).n_stored) if self.kernel_ == LINEAR else X.shape[0] * X.shape[1],
            n_problems=len(codes),
            loss=loss.name if loss.is_finite else "hard margin",
            kernel=self.kernel if isinstance(self.kernel, str) else repr(self.kernel),
            rows="X" if not rows.is_kernel else "Gram matrix" if reads_gram else "kernel",
            eps=float(self.eps),
            required_gap=float(loss.required_gap(self.eps)),
            plan=self._plan(problem, is_warm),
            candidates=candidates(problem, self.eps),
        )
