"""What an algorithm asks of a fit: its problem, its phases, and when it ends.

No part of it belongs to scikit-learn, which is not imported here: the command line fits without it.
"""

import functools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from margins.data._binary_data import SMALLEST_SQNORM
from margins.data.binary_data import MIN_PACKED, is_sparse, packed, rows_of
from margins.data.centring import centre_of
from margins.data.validation import Samples
from margins.estimators.declared import Declared
from margins.estimators.messages import reporter_of
from margins.estimators.names import MessageName
from margins.kernels import LINEAR
from margins.kernels.gram import gram_rows
from margins.kernels.kernel import Kernel
from margins.kernels.selection import kernel_choice, kernel_of, kernel_parameter
from margins.linalg import memory
from margins.losses import LOSSES, Loss
from margins.parameters import (
    BOOLEAN,
    COUNT,
    NON_NEGATIVE,
    POSITIVE,
    AnyOf,
    InstanceOf,
    Interval,
    MappingTo,
    OneOf,
    SubclassOf,
    check_parameters,
    optional,
    parameter,
)
from margins.regularisers import L2, PENALTIES, ElasticNet, Regulariser, regulariser_of
from margins.solvers.auto import (
    SOLVERS,
    is_small_hessian,
    plan,
    reads_gram,
    rounds_gram,
    shares_products,
)
from margins.solvers.base import Phase, Problem
from margins.solvers.driver import Run
from margins.solvers.newton.newton import NewtonStart
from margins.solvers.outcome import Outcome
from margins.solvers.plans import Plan
from margins.solvers.specification import Specification
from margins.training.schemes import scheme_of
from margins.training.training_set import TrainingSet

# A free intercept adds this share to the squared norm of the median sample.
SHARE_OF_INTERCEPT = 0.01
# Numbers of threads, as joblib counts them.
JOBS = optional(AnyOf(Interval(-math.inf, -1, "right", integer=True), COUNT))


class Algorithm(Declared):
    """Parameters of an algorithm, and what a fit asks of it."""

    C: float = parameter(
        Interval(0, math.inf, "right"),
        "Penalty of the 2-norm soft margin, as in LinearSVC: slack terms with D_k = 1 / (2 C), which "
        "make any data separable. inf: the hard margin.",
        default=1.0,
    )
    fit_intercept: bool = parameter(
        BOOLEAN, "Learn an intercept: the weight of one more feature of constant value.", default=True
    )
    intercept_scaling: float = parameter(
        Interval(0, 1e60, "right"),
        "Value of that feature (rho in the papers). A larger value penalises the intercept less.",
        default=1.0,
    )
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = parameter(
        AnyOf(OneOf(None, "balanced"), MappingTo(NON_NEGATIVE)),
        "Factors of the weights of all samples of a class, in every binary problem. 'balanced': "
        "m / (n_classes * class count).",
        default=None,
    )
    max_iter: int = parameter(
        COUNT, "Maximum number of full epochs. A fit that converges ends earlier.", default=1000
    )
    max_time: float | None = parameter(
        optional(POSITIVE),
        "Time limit of training, in seconds of wall time, shared by all classes. The certificate "
        "describes the model at that time; it takes one more pass over the samples. Results of a fit "
        "that reaches the limit depend on the machine. None: no limit.",
        default=None,
    )
    random_state: int | np.random.RandomState | None = parameter(
        AnyOf(
            OneOf(None),
            Interval(0, 2**32 - 1, integer=True),
            InstanceOf(np.random.RandomState, "a numpy.random.RandomState"),
        ),
        "Seed of the sample permutations.",
        default=None,
    )
    n_jobs: int | None = parameter(
        JOBS,
        "Number of threads that train classes in parallel, counted as in joblib. Spare threads share "
        "the passes of large problems, and all share predictions with kernels. Results do not depend "
        "on it.",
        default=None,
    )
    verbose: int = parameter(
        AnyOf(BOOLEAN, Interval(0, math.inf, "left", integer=True)),
        "Not 0: print a line for every full epoch, with the class if there are several.",
        default=0,
    )

    loss, multi_class = "squared_hinge", "ovr"
    prefers_cached = False  # see `Training`
    # The quantity that sample weights multiply: see `Specification.weights`.
    WEIGHTS_MULTIPLY: ClassVar[Literal["C", "C or updates", "updates", "relative updates"]] = "C"

    kernel: str | Kernel | Callable[[Any, Any], Any] = kernel_choice()
    degree: int = kernel_parameter("degree")
    gamma: float | Literal["scale", "auto"] = kernel_parameter("gamma")
    coef0: float = kernel_parameter("coef0")
    cache_size: float = parameter(
        POSITIVE,
        "Memory for kernel rows, in megabytes, for each thread that trains a problem.",
        default=200.0,
    )

    def phases(self, run: Run) -> Iterator[Phase]:
        """Yield the phases (margins.solvers.base.Phase) of the binary problem that `run` trains."""
        raise NotImplementedError(f"{type(self).__name__} must define phases(run).")

    def training_set_of(self, samples: Samples) -> TrainingSet:
        """Return the training set of samples that are validated and weighted."""
        X, columns, centre = samples.X, None, None
        kernel = LINEAR if self._is_linear else kernel_of(self, X)
        if kernel == LINEAR:
            self._check_size(samples)
            if is_sparse(X) and X.shape[1] >= MIN_PACKED and _packs(self, samples):
                X, columns = packed(X)
                samples = samples._replace(X=X)
            centre = self.centre(X)
        return TrainingSet(
            samples,
            kernel,
            functools.partial(self._rows, kernel=kernel),
            multi_class=self.multi_class,
            centre=centre,
            columns=columns,
        )

    def _check_size(self, samples):
        """Raise a MemoryError if memory cannot hold the weights of all problems."""
        n_problems = scheme_of(self.multi_class, len(samples.classes)).n_problems
        if n_problems * samples.n_features >= memory.NEGLIGIBLE:
            memory.check_model_fits(MessageName(self, "fit"), n_problems, samples.n_features)

    def _rows(self, X, kernel):
        """Return the rows that a run accesses: rows of X or of its kernel matrix."""
        return rows_of(X) if kernel == LINEAR else kernel.rows(X, self.cache_size)

    def centre(self, X: Any) -> NDArray[np.float64] | None:
        """Return the centre from which linear solvers measure the features of X; None: the origin."""
        return None

    def specification(self, sqnorms: NDArray[np.float64], continues: bool = False) -> Specification:
        """Return the specification of a fit: its problem, when it ends, and what it keeps.

        `sqnorms`, shape (m,), has K(x_k, x_k) of the training set; in a stream, only the unit 1.
        `continues`: the fit continues from the model of this estimator, in the units of that model.
        """
        sq_intercept_scaling = 0.0
        if self.fit_intercept and self.intercept_scaling is not None:
            sq_intercept_scaling = float(self.intercept_scaling) ** 2
        return Specification(
            name=MessageName(self),
            C=float(self.C),
            loss=self.loss,
            sq_intercept_scaling=sq_intercept_scaling,
            max_iter=self.max_iter,
            max_time=self.max_time,
            keep_dual=not math.isinf(self.C),
            weights=self.WEIGHTS_MULTIPLY,
            report=reporter_of(self) if self.verbose else None,
        )

    def _train(self, training):
        """Train all binary problems (list of Outcome)."""
        return training.train(self.phases, self.random_state)

    @property
    def _is_linear(self):
        return isinstance(self.kernel, str) and self.kernel == LINEAR.name

    @property
    def _is_precomputed(self):
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def check_parameters(self) -> None:
        """Raise a ValueError if a parameter or a combination of parameters is not allowed."""
        check_parameters(self)

    def describe(self, outcome: Outcome) -> str:
        """Return a sentence on the accuracy that a run has proven."""
        return outcome.loss.describe(outcome.certificate)


class PlannedAlgorithm(Algorithm):
    """The algorithm of `margins.MarginClassifier`: the solvers expected to prove eps soonest."""

    loss: str | type[Loss] = parameter(  # type: ignore[assignment]
        AnyOf(OneOf(*LOSSES), SubclassOf(Loss, "a subclass of margins.losses.Loss")),
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

    penalty: str | Regulariser = parameter(
        AnyOf(
            OneOf(*PENALTIES),
            InstanceOf(Regulariser, "a margins.regularisers.Regulariser"),
        ),
        "What is minimised beside the losses. 'l2': |w|^2 / 2. 'l1': the sum of |w_j|, which makes most "
        "weights 0, as in LinearSVC. 'elasticnet': ``l1_ratio |w|_1 + (1 - l1_ratio) |w|^2 / 2``. An "
        "object of margins.regularisers: signs, bounds, a weight for each feature, or a prior. Others "
        "than 'l2' are for linear data and a finite C.",
        default="l2",
    )
    l1_ratio: float | None = parameter(
        optional(Interval(0, 1)),
        "With penalty='elasticnet': the share of the sum of |w_j|. None: 0.5.",
        default=None,
    )

    prefers_cached = True  # for `decomposition`: see `Training`
    is_light = False  # True: begin with solvers that import NumPy alone, as the command line does

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
        if self.l1_ratio is not None and self.penalty != "elasticnet":
            raise ValueError(
                f"l1_ratio of {self._display_name()} must be None unless penalty='elasticnet'. "
                f"Got {self.l1_ratio!r} with penalty={self.penalty!r}."
            )
        if self.regulariser() is not None:
            self._check_regularised()

    def _check_regularised(self):
        """Raise a ValueError if another parameter does not go with the penalty."""
        allowed = (
            ("kernel", self._is_linear, "'linear'"),
            ("C", not math.isinf(self.C), "finite"),
            ("solver", self.solver in ("auto", "newton"), "'auto' or 'newton'"),
        )
        for name, is_allowed, text in allowed:
            if not is_allowed:
                raise ValueError(
                    f"{name} of {self._display_name()} must be {text} with penalty={self.penalty!r}. "
                    f"Got {getattr(self, name)!r}."
                )

    def regulariser(self):
        """Return the regulariser (margins.regularisers.Regulariser), or None for |w|^2 / 2."""
        regulariser = self.penalty
        if isinstance(regulariser, str):
            if regulariser == "l2":  # at once, for small fits
                return None
            regulariser = regulariser_of(regulariser, self.l1_ratio)
        is_ridge = type(regulariser) in (L2, ElasticNet) and regulariser.l1 == 0
        return None if is_ridge else regulariser

    def specification(self, sqnorms, continues=False):
        specification = super().specification(sqnorms, continues)
        # Where C |x|^2 is small, `eps` alone would prove nothing: docs/certificates.md.
        improvement = 1 - math.sqrt(self.eps)
        specification = specification._replace(
            eps=self.eps,
            required_improvement=improvement,
            keep_dual=True,
            regulariser=self.regulariser(),
        )
        if self.penalize_intercept or not self.fit_intercept:
            return specification
        sq_intercept_scaling = 0.0
        if self._is_linear:
            # The solution does not depend on it: it scales how far an update moves the intercept.
            share = 0.0 if sqnorms is None else SHARE_OF_INTERCEPT * float(np.median(sqnorms))
            sq_intercept_scaling = max(share, SMALLEST_SQNORM) if share > 0 else 1.0
        return specification._replace(has_free_intercept=True, sq_intercept_scaling=sq_intercept_scaling)

    def _train(self, training):
        is_ridge = training.specification.regulariser is None
        if self.solver == "auto" and is_ridge and not _has_own_hooks(type(self)):
            training.solve_whole(self.is_light)
        return super()._train(training)

    def training_set_of(self, samples):
        training_set = super().training_set_of(samples)
        if self.regulariser() is None and not (training_set.is_kernel or training_set.rows.is_kernel):
            scheme = training_set.scheme
            if shares_products(training_set.X, 0 if scheme.has_pairs else scheme.n_problems):
                training_set.share_products()
        return training_set

    def phases(self, run):
        return self.plan(run.problem, run.specification, run.is_warm).phases_of(run)

    def plan(
        self,
        problem: Problem,
        specification: Specification,
        is_warm: bool = False,
        start: NewtonStart | None = None,
    ) -> Plan:
        """Return the plan of a binary problem.

        `is_warm`: a run starts from dual variables that are expected to be near the solution. `start`:
        the start of the Newton steps, if the plan begins with them.
        """
        light = self.is_light
        return plan(problem, specification, self.solver, is_warm=is_warm, start=start, is_light=light)

    def _rows(self, X, kernel):
        if kernel == LINEAR and self.regulariser() is None and reads_gram(X, self.solver):
            return gram_rows(X, coarse=rounds_gram(self.eps))
        return super()._rows(X, kernel)

    def centre(self, X):
        """See `BaseMarginClassifier.centre`; a free intercept allows any."""
        if self.penalize_intercept or not self.fit_intercept:
            return None
        if self.regulariser() is None and self.solver in ("auto", "newton"):
            n_stored = X.nnz if is_sparse(X) else X.size
            if is_small_hessian(X.shape[1] + 1, X.shape[0], lambda n: n_stored >= n):
                return None  # Newton steps centre their Hessian, and copy nothing
        return centre_of(X)


def _packs(algorithm, samples):
    """Return whether features without any element may be left out, because their weights are 0."""
    if _has_own_hooks(type(algorithm)):
        return False
    regulariser = algorithm.regulariser()
    if regulariser is None:
        return True
    from margins.solvers.penalised import Penalty  # few fits need it

    penalty = Penalty(regulariser, samples.n_features, names=samples.feature_names)
    return not penalty.start.any()


def _has_own_hooks(cls):
    """Return whether a class may change what a fit of `PlannedAlgorithm` reads or does."""
    hooks = ("centre", "phases", "plan", "specification")
    return not issubclass(cls, PlannedAlgorithm) or any(
        getattr(cls, hook) is not getattr(PlannedAlgorithm, hook) for hook in hooks
    )
