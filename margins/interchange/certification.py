"""Certificates of models that any program has trained.

The model gives the primal value, by one product with X. A dual value comes from its slacks or from its
dual variables, by a second product. If that does not bound the optimum closely enough, a fit of margins
does, to the same accuracy.
"""

import copy
import math
import warnings
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _get_feature_names, validate_data

from margins._update import WeightVector
from margins.certificate import Certificate, Standing
from margins.data._passes import combination, products
from margins.data.binary_data import array_of_each, of_each, rows_of
from margins.data.chunks import Chunks, is_in_parts, read_chunk
from margins.data.validation import (
    checked_labels,
    n_rows_of,
    validate_matrix,
    validate_samples,
    weighted_samples,
    weights_given,
)
from margins.estimators.algorithm import JOBS
from margins.estimators.fitted import fitted_model
from margins.estimators.margin_classifier import MarginClassifier
from margins.estimators.partitioned import fit_of, partitioned_fit, takes_partitions
from margins.interchange.solutions import (
    CALLER,
    Part,
    Solution,
    TrainingSamples,
    classes_of,
    has_pairs,
    read_model,
)
from margins.kernels import LINEAR
from margins.kernels.selection import kernel_of
from margins.linalg.threads import n_threads_of, team_of
from margins.losses import Loss
from margins.losses.losses import Bounds
from margins.parameters import Interval, check
from margins.solvers.balance import balanced
from margins.solvers.indefinite import known_indefinite
from margins.solvers.proof import Claim, PrimalPoint, Proof
from margins.training.fit import NOTHING_TO_SEPARATE, outcome_without_samples
from margins.training.schemes import scheme_of
from margins.training.training_set import TrainingSet

# A model this far above the optimum gets advice.
LARGE_GAP = 0.01
# Features whose root mean squares differ by this factor slow down every solver.
UNEVEN = 100.0
# Above this C |x|^2, far more iterations are needed than the defaults of most programs allow.
LARGE_C = 1e4
# Squares of larger weights would overflow in the objective.
LARGEST = 1e150

# Certificates, proofs if the samples are in memory, names of the problems, and the largest C |x|^2.
Proven = tuple[list[Certificate], list[Proof | None], list[str], float]


@dataclass(frozen=True, eq=False)
class Certification:
    """What is proven of a model: one certificate for each binary problem. Print it to read it.

    Attributes
    ----------
    certificates : tuple of Certificate
        In the order of the model's problems. `primal` is the objective of *this* model.
    names : tuple of str
        The problem of each certificate, empty if there is only one.
    advice : str
        What to change if a gap is large: scaling, C, or iterations; empty if no gap is above 1 %.

    See Also
    --------
    margins.certify : Makes it.
    """

    certificates: tuple[Certificate, ...]
    names: tuple[str, ...]
    advice: str
    _models: Any = field(repr=False)

    @property
    def n_different(self) -> int:
        """Training predictions that differ from those of a fit to the accuracy asked for: int.

        If the model proved itself, this fit runs when `n_different` is first read.
        """
        return int(self._models.n_different())

    def __str__(self) -> str:
        lines = [
            f"{name}: {certificate}" if name else str(certificate)
            for name, certificate in zip(self.names, self.certificates, strict=True)
        ]
        return "\n".join([*lines, self.advice] if self.advice else lines)


def certify(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    C: float | None = None,
    alpha: float | None = None,
    loss: str | None = None,
    penalty: Any = None,
    l1_ratio: float | None = None,
    penalize_intercept: bool | None = None,
    intercept_scaling: float | None = None,
    class_weight: Any = None,
    multi_class: str | None = None,
    kernel: Any = None,
    gamma: Any = None,
    degree: int | None = None,
    coef0: float | None = None,
    accuracy: float = 1e-4,
    n_jobs: int | None = None,
) -> Certification:
    """Prove how good a model is, whichever program trained it.

    The model is compared with the optimum of the problem that it was trained for. With the squared
    hinge loss, three products with X suffice if the model is close to the optimum. Otherwise a fit of
    `margins.MarginClassifier` to this accuracy bounds the optimum.

    Parameters
    ----------
    model : fitted estimator or tuple of arrays
        LinearSVC, SVC, SGDClassifier (hinge or squared hinge), OneVsRestClassifier or OneVsOneClassifier
        of these, of scikit-learn or with the same attributes (scikit-learn-intelex, cuML); a Pipeline or
        search that ends with one; a classifier of margins. A tuple is ``(coef, intercept)``, of shapes
        (n_problems, n_features) and (n_problems,), whose positive class is the second of two; None is no
        intercept. With `kernel` it is ``(dual_coef, intercept)``: the dual variables times their labels,
        of shape (n_problems, n_samples); for pairs in the layout of SVC.
    X : array-like, sparse matrix or Chunks, shape (n_samples, n_features)
        The training samples, as passed to the model.
    y : array-like, shape (n_samples,)
        Their labels. None only with Chunks.
    sample_weight : array-like of float, shape (n_samples,), optional
        As passed to the fit of the model.
    C, alpha : float > 0, optional
        Penalty of slacks, or of weights: ``C = 1 / (alpha * n_samples)``. C may be inf: the certificate
        then compares margins. This and the next arguments are for arrays; an estimator states them, and
        an argument that contradicts it is an error.
    loss : {"squared_hinge", "hinge"}, optional
    penalty, l1_ratio : optional
        As in `margins.MarginClassifier`.
    penalize_intercept : bool, optional
    intercept_scaling : float, optional
    class_weight : dict or "balanced", optional
    multi_class : {"ovr", "ovo"}, optional
    kernel, gamma, degree, coef0 : optional
        As in `margins.MarginClassifier`, whose defaults hold for arrays.
    accuracy : float in (0, 1)
        Relative accuracy of the bound of the optimum.
    n_jobs : int, optional
        Number of threads, as in `margins.MarginClassifier`.

    Raises
    ------
    TypeError
        If the model is of no such class.
    ValueError
        If the model, the samples and the arguments contradict each other: other classes, features or
        parameters.

    See Also
    --------
    margins.certificate.Certificate : What each number means.

    Examples
    --------
    >>> import margins
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.svm import LinearSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X /= X.max(axis=0)
    >>> result = margins.certify(LinearSVC(loss="hinge", random_state=0).fit(X, y), X, y)
    >>> result.certificates[0].gap < 0.001, result.n_different
    (True, 0)
    >>> stopped = LinearSVC(dual=True, tol=10, random_state=0).fit(X, y)
    >>> print(margins.certify(stopped, X, y))  # doctest: +ELLIPSIS
    objective ..., at most ... % above the optimum
    Allow more iterations, or a smaller tolerance.
    """
    check("accuracy", CALLER, accuracy, Interval(0, 1, "neither"))
    check("n_jobs", CALLER, n_jobs, JOBS)
    arguments = {
        "C": C,
        "alpha": alpha,
        "loss": loss,
        "penalty": penalty,
        "l1_ratio": l1_ratio,
        "penalize_intercept": penalize_intercept,
        "intercept_scaling": intercept_scaling,
        "class_weight": class_weight,
        "multi_class": multi_class,
        "kernel": kernel,
        "gamma": gamma,
        "degree": degree,
        "coef0": coef0,
    }
    stated = {name: value for name, value in arguments.items() if value is not None}
    while hasattr(model, "best_estimator_") or hasattr(model, "steps"):
        if hasattr(model, "steps"):
            X, model = model[:-1].transform(X) if len(model.steps) > 1 else X, model[-1]
        else:
            model = model.best_estimator_
    if isinstance(X, Chunks) and not (y is None and sample_weight is None):
        raise ValueError(f"y and sample_weight of {CALLER} must be None: Chunks hold them.")
    if y is None and not is_in_parts(X):
        raise ValueError(f"y of {CALLER} must be passed unless X is Chunks. Got None.")
    if hasattr(model, "n_features_in_") and not is_in_parts(X):
        validate_data(model, X, reset=False, skip_check_array=True)
    y = None if y is None or is_in_parts(X) else _labels(y)
    weight = None
    if sample_weight is not None and not is_in_parts(X):
        weight = weights_given(CALLER, len(y), sample_weight)
    samples = TrainingSamples(y, weight, lambda: _n_samples(X))
    solution = read_model(model, stated, samples)
    proven: Any
    if isinstance(solution, Solution):
        proven = _Proven(solution, X, y, sample_weight, accuracy, n_jobs)
    else:
        proven = _ProvenParts(model, solution, validate_matrix(X, f"X of {CALLER}"), accuracy, n_jobs)
    certificates = tuple(proven.certificates)
    large = any(certificate.gap > LARGE_GAP for certificate in certificates)
    return Certification(certificates, tuple(proven.names), proven.advice() if large else "", proven)


class _Proven:
    """A Solution with its proofs and, if one was needed, the fit that bounds the optimum."""

    def __init__(
        self, solution: Solution, X: Any, y: Any, sample_weight: Any, accuracy: float, n_jobs: Any
    ) -> None:
        # With a maximum margin, eps is an accuracy of the margin, and `accuracy` of its square.
        is_margin = solution.optimum.loss != "hinge" or math.isinf(solution.optimum.C)
        eps = 1 - 1 / math.sqrt(1 + accuracy) if is_margin else accuracy
        self.optimum = solution.optimum.set_params(eps=eps, n_jobs=n_jobs, random_state=0)
        self._solution, self._samples = solution, (X, y, sample_weight)
        self._is_fitted, self._X = False, cast("Any", None)
        ignoring = np.errstate(over="ignore", invalid="ignore")  # of models that diverged
        with ignoring, team_of(n_threads_of(n_jobs)):  # type: ignore[no-untyped-call]
            prove = self._prove_in_parts if takes_partitions(self.optimum, X) else self._prove
            self.certificates, self._proofs, self.names, self._largest = prove(*self._samples)
        if any(certificate.gap > accuracy for certificate in self.certificates):
            duals = [certificate.dual for certificate in self.fitted().certificates_]
            self.certificates = list(map(_raised, self.certificates, self._proofs, duals))

    def fitted(self) -> MarginClassifier:
        """Return the optimum, fitted."""
        if not self._is_fitted:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                self.optimum.fit(*self._samples)
            self._is_fitted = True
        return self.optimum

    def model(self) -> Any:
        """Return the solution as a fitted classifier, which predicts as it does."""
        solution: Any = self._solution
        if solution.classifier is not None:
            return solution.classifier
        model: Any = copy.copy(self.fitted())
        model.intercept_ = np.array(solution.intercept)
        if solution.coef is not None:
            model.coef_ = solution.coef
            return model
        order = np.argsort(self._codes, kind="stable")
        model.support_, model.n_support_ = order, np.bincount(self._codes)
        model.support_vectors_ = self._X if model.kernel == "precomputed" else self._X[order]
        model.dual_coef_ = solution.dual_coef[:, order]
        return model

    def n_different(self) -> int:
        """Return how many training predictions differ from the optimum's."""
        X = self._samples[0]
        return int(np.sum(np.asarray(self.model().predict(X) != self.fitted().predict(X))))

    def _check(self, classes: np.ndarray, n_features: int) -> None:
        """Raise a ValueError unless the samples have the classes and features of the solution."""
        solution, scheme = self._solution, scheme_of(self.optimum.multi_class, len(classes))
        if solution.classes is None and len(classes) == 2 and self.optimum.multi_class == "ovo":
            raise ValueError(f"multi_class of {CALLER} must be omitted for two classes. Got 'ovo'.")
        if solution.classes is not None and not np.array_equal(solution.classes, classes):
            raise ValueError(
                f"y of {CALLER} must hold the classes of the model, {solution.classes.tolist()}. "
                f"Got {classes.tolist()}."
            )
        if solution.coef is not None and solution.coef.shape != (scheme.n_problems, n_features):
            raise ValueError(
                f"coef of {CALLER} must have shape ({scheme.n_problems}, {n_features}), for "
                f"{len(classes)} classes and the features of X. Got {solution.coef.shape}."
            )
        if len(solution.intercept) != scheme.n_problems:
            raise ValueError(
                f"intercept of {CALLER} must hold {scheme.n_problems} numbers. "
                f"Got {len(solution.intercept)}."
            )
        for array in (solution.coef, solution.intercept, solution.dual_coef):
            if array is not None and not np.abs(array).max() <= LARGEST:
                raise ValueError(
                    f"model of {CALLER} must hold finite numbers of at most {LARGEST:g}. "
                    f"Got {array.ravel()[np.abs(array).argmax()]:g}."
                )

    def _prove(self, X: Any, y: Any, sample_weight: Any) -> Proven:
        """Prove what the solution alone proves of samples in memory."""
        optimum, solution = self.optimum, self._solution
        valid = validate_samples(optimum, validate_matrix(X, f"X of {CALLER}"), y, CALLER)
        valid = valid._replace(feature_names=_get_feature_names(X))
        self._check(valid.classes, valid.X.shape[1])
        shape = scheme_of(optimum.multi_class, len(valid.classes)).n_dual_rows, len(valid.codes)
        if solution.dual_coef is not None and solution.dual_coef.shape != shape:
            raise ValueError(
                f"dual_coef of {CALLER} must have shape {shape}. Got {solution.dual_coef.shape}."
            )
        samples = weighted_samples(
            CALLER, valid, sample_weight, optimum.class_weight, pairwise=optimum.kernel == "precomputed"
        )
        self._X, self._codes = valid.X, valid.codes
        kernel = kernel_of(optimum, samples.X)
        make_rows = rows_of if kernel == LINEAR else lambda X: kernel.rows(X, optimum.cache_size)
        training_set = TrainingSet(samples, kernel, make_rows, multi_class=optimum.multi_class)
        specification, scheme = optimum.specification(training_set.sqnorms), training_set.scheme
        proofs = [self._proof(training_set, index, specification) for index in range(scheme.n_problems)]
        certificates = [NOTHING_TO_SEPARATE if proof is None else proof.certificate for proof in proofs]
        largest = float(np.max(training_set.penalties(specification) * training_set.sqnorms))
        return certificates, proofs, scheme.names(samples.classes), largest

    def _proof(self, training_set: TrainingSet, index: int, specification: Any) -> Proof | None:
        """Return the proof of a problem by the solution alone; None without samples of a class."""
        if outcome_without_samples(training_set, index, specification) is not None:
            return None
        solution, scheme, samples = self._solution, training_set.scheme, training_set.samples
        of_problem, positive = scheme.binary(training_set, index)
        problem = of_problem.problem(positive, specification)
        data, loss = problem.data, problem.loss
        dual: Any = None
        if solution.dual_coef is not None:
            dual = (
                scheme.of_problem(solution.dual_coef[:, samples.kept], samples.codes, index) * data.signs
            )
            if dual.min() < 0:
                raise ValueError(
                    f"dual_coef of {CALLER} must have the sign of each label. Got the opposite sign for "
                    f"{np.count_nonzero(dual < 0)} samples: X and y must be those that the model was "
                    "fitted to."
                )
        if solution.classifier is not None:
            return _proof_of_expansion(solution.classifier, training_set, index, data, loss)
        hypothesis: Any
        weights, intercept = WeightVector(data.rows.n_features, len(data)), solution.intercept[index]
        if solution.coef is None:
            weights.assign(data, dual, _sums_of_kernel(data, dual))
            theta = data.sq_intercept_scaling * weights.label_sum - intercept
            hypothesis = weights
        else:
            theta, all_samples = 0.0, np.arange(len(data), dtype=np.int32)
            w, rho = np.array(solution.coef[index]), math.sqrt(data.sq_intercept_scaling)
            if problem.penalty is not None:
                _check_bounds(w, problem.penalty.features)
            if rho > 0:
                w = np.append(w, intercept / rho)
            margins = products(data, all_samples, w)
            if dual is None:
                dual = _dual_of_margins(loss, margins, data.signs)
            if data.has_free_intercept:
                dual = balanced(dual, array_of_each(loss.upper, len(data)), data.signs)
            weights.assign(data, dual, combination(data, all_samples, dual))
            hypothesis = PrimalPoint(w, margins, rho, weights)
        fixed_scale = 1.0 if loss.is_finite else None
        claim = Claim(data, loss, hypothesis, weights, theta, fixed_scale, penalty=problem.penalty)
        indefinite = known_indefinite(data) if data.rows.is_kernel else None
        proof = Proof(problem.constant_objective, indefinite)
        proof = proof.certified(claim).as_returned(claim)
        return proof.with_best_dual(proof.best_dual, n_updates=0)

    def _prove_in_parts(self, X: Any, y: Any, sample_weight: Any) -> Proven:
        """Return the same for samples in partitions, by one pass after the scan."""
        solution = self._solution
        with partitioned_fit(self.optimum, X, y, sample_weight) as partitioned:
            scanned = partitioned.scanned
            self._check(scanned.classes, scanned.n_features)
            specification = self.optimum.specification(None)
            rho = math.sqrt(specification.sq_intercept_scaling)
            points: Any = solution.coef
            if rho > 0:
                points = np.column_stack([points, solution.intercept / rho])
            if partitioned.penalty is not None:
                for w in solution.coef if solution.coef is not None else ():
                    _check_bounds(w, partitioned.penalty.features)
            problems = partitioned.problems([self.optimum.C])
            outcomes = partitioned.train(problems, points)
            fit = fit_of(scanned, outcomes, partitioned.absent())
        names = fit.training_set.scheme.names(scanned.classes)
        largest = self.optimum.C * scanned.max_sqnorm
        return [outcome.certificate for outcome in outcomes], [None] * len(outcomes), names, largest

    def advice(self) -> str:
        """Return what to change so that the model comes closer to the optimum."""
        X = self._X
        if X is not None and self.optimum.kernel == "linear":
            squares = X.multiply(X) if hasattr(X, "multiply") else np.square(X)
            sizes = np.sqrt(np.ravel(squares.mean(axis=0)))
            sizes = sizes[sizes > 0]
            if len(sizes) and sizes.max() > UNEVEN * sizes.min():
                ratio = sizes.max() / sizes.min()
                return f"Standardize the features: their root mean squares differ {ratio:.2g}-fold."
        if LARGE_C < self._largest < math.inf:
            return (
                f"Scale the features or choose a smaller C: C |x|^2 is up to {self._largest:.2g}, which "
                "takes many iterations."
            )
        return "Allow more iterations, or a smaller tolerance."


class _ProvenParts:
    """A model of several binary models, each with its proof."""

    def __init__(self, model: Any, parts: list[Part], X: Any, accuracy: float, n_jobs: Any) -> None:
        self._X, self._classes, self._parts = X, classes_of(model), []
        self._scheme = scheme_of("ovo" if has_pairs(model) else "ovr", len(self._classes))
        self._columns = []
        for part in parts:
            is_pairwise = getattr(model, "pairwise_indices_", None) is not None
            self._columns.append(part.rows if is_pairwise else slice(None))
            of_part = X[part.rows][:, self._columns[-1]]
            solution = part.model
            if not isinstance(solution, Solution):
                of_labels = TrainingSamples(part.y, part.sample_weight, part.y.__len__)
                solution = read_model(solution, {}, of_labels)
            self._parts.append(_Proven(solution, of_part, part.y, part.sample_weight, accuracy, n_jobs))
        self.certificates = [part.certificates[0] for part in self._parts]
        self.names = self._scheme.names(self._classes)

    def n_different(self) -> int:
        models = [part.model() for part in self._parts], [part.fitted() for part in self._parts]
        own, best = (self._predicted(of_parts) for of_parts in models)
        return int(np.sum(own != best))

    def _predicted(self, models: list[Any]) -> Any:
        """Return the predictions of binary models together."""
        scores = np.column_stack(
            [
                model.decision_function(self._X[:, columns])
                for model, columns in zip(models, self._columns, strict=True)
            ]
        )
        # The second class of a pair is positive in OneVsOneClassifier, the first one here.
        return self._scheme.predict(-scores if self._scheme.has_pairs else scores, self._classes)

    def advice(self) -> str:
        """Return the advice for the part with the largest gap."""
        return max(self._parts, key=lambda part: part.certificates[0].gap).advice()


def _proof_of_expansion(
    classifier: Any, training_set: TrainingSet, index: int, data: Any, loss: Loss
) -> Proof:
    """Return the proof of the objective of a sum over support vectors that are none of the samples."""
    model, scheme, codes = fitted_model(classifier), training_set.scheme, training_set.samples.codes
    rows: Any = slice(None)
    coefficients = model.dual_coef[min(index, len(model.dual_coef) - 1)]
    if scheme.has_pairs:
        pair = first, second = scheme.pairs[index]
        rows = np.concatenate([np.flatnonzero(codes == code) for code in pair])
        of_first, of_second = model.dual_coef[second - 1], model.dual_coef[first]
        coefficients = np.where(model.codes == first, of_first, 0.0)
        coefficients += np.where(model.codes == second, of_second, 0.0)
    margins = data.signs * model.scores(training_set.samples.X[rows])[:, index]
    of_vectors = model.scores(model.support_vectors)[:, index] - model.intercept[index]
    sqnorm = max(float(coefficients @ of_vectors), 0.0)
    constant = loss.constant_objective(data.signs, math.inf)
    proof = Proof(constant, known_indefinite(data), standing=Standing(constant, math.sqrt(sqnorm)))
    return proof.with_point(Bounds(0.5 * sqnorm + loss.value(margins), 0.0, 1.0, 0.0), n_updates=0)


def _sums_of_kernel(data: Any, dual: np.ndarray) -> Any:
    """Return sum_k alpha_k y_k over the rows of a kernel by blocks of it; None: row by row."""
    if data.rows.blocks is None:
        return None
    support = np.flatnonzero(dual)
    coefficients, every = data.signs[support] * dual[support], np.arange(len(dual))
    sums = data.rows.blocks.make(False).sums(every, support, coefficients)
    return np.append(sums, math.sqrt(data.sq_intercept_scaling) * coefficients.sum())


def _check_bounds(w: np.ndarray, terms: Any) -> None:
    """Raise a ValueError unless the weights are within the bounds of their penalty."""
    outside = np.flatnonzero((w < terms.lower) | (w > terms.upper))
    if len(outside):
        j = outside[0]
        raise ValueError(
            f"coef of {CALLER} must be within the bounds of penalty. Got {w[j]:g} for feature {j}, "
            f"whose bounds are {terms.lower[j]:g} and {terms.upper[j]:g}."
        )


def _dual_of_margins(loss: Loss, margins: np.ndarray, signs: np.ndarray) -> Any:
    """Return the dual variables that belong to w.y_k, or feasible ones if the loss has a kink there."""
    upper = of_each(loss.upper, len(margins))
    if loss.is_smooth:
        return np.clip((1 - margins) / of_each(loss.diag, len(margins)), 0.0, upper)
    if loss.is_finite:
        return np.where(margins < 1, upper, 0.0)
    closest = np.where(signs > 0, margins[signs > 0].min(), margins[signs < 0].min())
    return (margins <= closest).astype(float)


def _raised(certificate: Certificate, proof: Proof | None, dual: float) -> Any:
    """Return a certificate with a dual value that another fit has proven, if it is larger."""
    if dual <= certificate.dual:
        return certificate
    if proof is not None:
        return proof.with_best_dual(dual, n_updates=0).certificate
    primal, margin, improvement = certificate.primal, certificate.margin, certificate.improvement
    return Certificate.from_bounds(  # type: ignore[no-untyped-call]
        primal, dual, 0, margin, improvement
    )


def _labels(y: Any) -> np.ndarray:
    """Return labels as an ndarray of shape (n_samples,)."""
    y = y if sparse.issparse(y) else np.asarray(checked_labels(y, f"y of {CALLER}"))
    if len(y.shape) > 1 and y.shape[1] != 1:
        raise ValueError(
            f"y of {CALLER} must have shape (n_samples,): a model of several labels for each sample is "
            f"one model for each, with its column of y. Got shape {y.shape}."
        )
    return np.ravel(y.toarray() if sparse.issparse(y) else y)


def _n_samples(X: Any) -> Any:
    """Return the number of samples, which chunks tell only when they are read."""
    if not isinstance(X, Chunks):
        return n_rows_of(X)
    return sum(n_rows_of(read_chunk(X, index, CALLER)[0]) for index in range(len(X)))
