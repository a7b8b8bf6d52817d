"""Certificates never lie, whenever a fit ends; and a fit that says it has converged has.

The truth comes from oracles that share nothing with the package: the maximum margin is the distance
of the origin from the samples' convex hull, the optimum of the L1-SVM a long dual coordinate descent.
"""

import copy
import dataclasses
import math
import re
import warnings
from dataclasses import dataclass

import numpy as np
import oracles
import pytest
from hypothesis import HealthCheck, assume, example, given, reject, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

import margins
from margins.certificate import Certificate
from margins.estimators.budget import BudgetClassifier
from margins.estimators.maximum_margin import MaximumMarginClassifier
from margins.estimators.noise_tolerance import AveragingClassifier
from margins.estimators.step import StepClassifier
from margins.losses import loss_of

ALGORITHMS = {name: margins.get(name) for name in margins.available()}
NAMES = list(ALGORITHMS)
STOPPING = [name for name in NAMES if issubclass(ALGORITHMS[name], MaximumMarginClassifier)]
PROVING = ["auto", *STOPPING]  # MarginClassifier always ends with its proof
NOISE_TOLERANT = [name for name in NAMES if issubclass(ALGORITHMS[name], AveragingClassifier)]
ONLINE = [name for name in NAMES if hasattr(ALGORITHMS[name](), "partial_fit")]
# Their coef_ is what has been added up, and not the best multiple of it.
STEPS = [name for name in NAMES if issubclass(ALGORITHMS[name], StepClassifier)]
UNSCALED = [*NOISE_TOLERANT, "servedio-average", *STEPS]
UNSCALED += [name for name in NAMES if issubclass(ALGORITHMS[name], BudgetClassifier)]
# These do not require a separating hyperplane, so they do not warn if there is none.
SILENT = [name for name in [*UNSCALED, "pegasos"] if name != "perceptron"]
WARNING = [name for name in NAMES if name not in SILENT]
SLACK = 1e-9  # relative, of the truths and of what is recomputed
ENOUGH = 1e-6  # relative, of an objective at the best scale

quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def examples(count):
    return settings(
        derandomize=True, deadline=None, max_examples=count, suppress_health_check=[HealthCheck.too_slow]
    )


# ------------------------------------------------------------------------------------------- problems


@dataclass
class Problem:
    """A binary problem, and all that is true about it. C inf: the hard margin."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None = None
    rho: float = 1.0
    C: float = 1.0
    seed: int = 0
    loss: str = "squared_hinge"

    def fit(self, name, **params):
        algorithm = ALGORITHMS[name]
        declared = {field.name for field in dataclasses.fields(algorithm)}
        if name == "pfm" and math.isinf(self.C):
            params.setdefault("gamma", 0.1)
        if "loss" in declared:
            params.setdefault("loss", self.loss)
        classifier = algorithm(random_state=self.seed, **self.params, **params)
        return classifier.fit(self.X, self.y, self.weight)

    def of(self, name):
        """This problem with the loss that the algorithm has, if it has no other."""
        return dataclasses.replace(self, loss="hinge") if ALGORITHMS[name].loss == "hinge" else self

    @property
    def params(self):
        return {
            "C": self.C,
            "fit_intercept": self.rho > 0,
            "intercept_scaling": self.rho or 1.0,
        }

    @property
    def hard(self):
        return math.isinf(self.C)

    @property
    def C_k(self):
        return self.C * (np.ones(len(self.y)) if self.weight is None else self.weight)

    @property
    def data(self):
        """The samples augmented by the bias, without slack terms."""
        return oracles.data_of(self.X, self.y, self.rho)

    @property
    def maximum_margin(self):
        """Of the samples with bias and slack terms; 0 if no hyperplane separates them."""
        return oracles.maximum_margin(oracles.data_of(self.X, self.y, self.rho, 0.5 / self.C_k))

    @property
    def optimum(self):
        """The least objective; inf if nothing is feasible."""
        if self.loss == "hinge" and not self.hard:
            try:
                return oracles.l1_svm_optimum(self.data, self.C_k)[0]
            except ArithmeticError:  # one in a thousand, with a large C, takes it too long
                reject()
        gamma = self.maximum_margin
        return 0.5 / gamma**2 if gamma > 0 else math.inf

    def weights(self, classifier):
        """The augmented weight vector that the coefficients as returned stand for.

        Of the voted perceptron, which returns none, the last hypothesis, of which its certificate is.
        """
        if hasattr(classifier, "mistakes_"):
            mistakes = classifier.support_[classifier.mistakes_[0]]
            added = classifier.eta * self.data[mistakes].sum(axis=0)
            if self.rho:
                added[-1] -= classifier.theta_init_ / self.rho
            return added
        w, b = classifier.coef_[0], classifier.intercept_[0]
        return np.append(w, b / self.rho) if self.rho else w

    def objective(self, w):
        """What an augmented weight vector costs, by definition."""
        products = self.data @ w
        if self.hard:
            return 0.5 * w @ w if products.min() >= 1 - SLACK else math.inf
        slack = np.maximum(1 - products, 0)
        return 0.5 * w @ w + self.C_k @ (slack if self.loss == "hinge" else slack**2)

    def dual_objective(self, alpha):
        combination = alpha @ self.data
        value = alpha.sum() - 0.5 * combination @ combination
        if self.hard or self.loss == "hinge":
            return value
        return value - 0.5 * np.sum(alpha**2 / (2 * self.C_k))


# Hypothesis chooses the sizes and the settings, a seeded generator the numbers: left to itself,
# Hypothesis prefers matrices of zeros and ones, on which nothing takes more than a few updates.


@st.composite
def problems(draw, C=(1.0, 100.0, math.inf), loss="squared_hinge", separable=None):
    """Draw small problems, integer or real, separable or not, with a bias or without."""
    seed = draw(st.integers(0, 10**6))
    m, d = draw(st.integers(2, 10)), draw(st.integers(1, 4))
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, (m, d)).astype(float)
    if draw(st.booleans()):
        X += rng.normal(scale=0.3, size=(m, d))
    rho = draw(st.sampled_from([0.0, 1.0, 2.5]))
    if rho == 0:
        X[~X.any(axis=1), 0] = 1  # without a bias nothing classifies a zero row
    by_plane = X @ rng.normal(size=d) + rho * rng.normal() > 0
    if separable is None:
        separable = draw(st.booleans())
    y = np.where(by_plane if separable else rng.random(m) < 0.5, 1, -1)
    assume(len(set(y)) == 2)
    weight = rng.choice([0.25, 1.0, 3.0], m) if draw(st.booleans()) else None
    return Problem(X, y, weight, rho, draw(st.sampled_from(C)), seed % 1000, loss)


max_iters = st.sampled_from([1, 2, 3, 7, 50])
accuracies = st.sampled_from([0.5, 0.1, 0.01, 0.001])


def assert_states_objective(problem, classifier, w):
    """What the certificate states is what the coefficients, as returned, cost."""
    (certificate,) = classifier.certificates_
    objective = problem.objective(w)
    assert objective <= certificate.primal * (1 + SLACK)
    assert certificate.primal == pytest.approx(objective, rel=SLACK)
    if problem.hard and math.isinf(objective):
        achieved = (problem.data @ w).min() / np.linalg.norm(w) if w.any() else 0.0
        assert certificate.margin == pytest.approx(achieved, rel=SLACK, abs=SLACK)
        assert certificate.margin <= SLACK
    elif math.isfinite(certificate.primal):
        assert certificate.margin == pytest.approx(1 / math.sqrt(2 * certificate.primal), rel=SLACK)
    if not problem.hard and problem.loss == "squared_hinge":
        best = oracles.best_multiple(problem.data @ w, w @ w, problem.C_k)
        assert objective <= best * (1 + ENOUGH)  # "weights at the scale of least objective"


def assert_states_direction(problem, classifier, w):
    """What the certificate states is what some multiple of the coefficients costs."""
    (certificate,) = classifier.certificates_
    products, sqnorm = problem.data @ w, w @ w
    if problem.hard:
        achieved = products.min() / math.sqrt(sqnorm) if sqnorm else 0.0
        # Of a run that has come back to 0 nothing is stated: its hypothesis is a mere threshold.
        if certificate.margin > -math.inf:
            assert certificate.margin == pytest.approx(achieved, rel=SLACK, abs=SLACK)
        else:
            assert achieved <= 0
        if certificate.margin <= 0:
            assert certificate.primal == math.inf
    else:
        best = oracles.best_multiple(products, sqnorm, problem.C_k)
        assert certificate.primal >= best * (1 - SLACK)
        assert certificate.primal <= best * (1 + ENOUGH) or certificate.primal == math.inf
    if math.isfinite(certificate.primal):
        assert certificate.margin == pytest.approx(1 / math.sqrt(2 * certificate.primal), rel=SLACK)


def assert_true(problem, classifier, optimum=None):
    """Every number that the certificate and the dual variables state, against the truth."""
    (certificate,) = classifier.certificates_
    w = problem.weights(classifier)
    assert np.isfinite(w).all()
    optimum = problem.optimum if optimum is None else optimum

    if isinstance(classifier, tuple(ALGORITHMS[name] for name in UNSCALED)):
        assert_states_direction(problem, classifier, w)
        objective = certificate.primal
    else:
        assert_states_objective(problem, classifier, w)
        objective = problem.objective(w)

    # What is stated is true.
    truth = 1 / math.sqrt(2 * optimum)
    assert certificate.margin <= truth * (1 + SLACK) + (SLACK if math.isinf(optimum) else 0)
    assert certificate.upper_bound >= truth * (1 - SLACK)
    assert certificate.primal >= optimum * (1 - SLACK)
    assert certificate.dual <= optimum * (1 + SLACK)
    assert certificate.fraction <= max(certificate.margin, 0) / truth * (1 + SLACK) if truth else True
    assert 0 <= certificate.fraction <= 1
    assert certificate.gap >= (objective / optimum - 1) * (1 - SLACK) - SLACK if truth else True
    assert certificate.gap >= 0

    # Its parts fit together.
    if certificate.dual > 0:
        assert certificate.upper_bound == pytest.approx(1 / math.sqrt(2 * certificate.dual), rel=SLACK)
        assert certificate.gap == pytest.approx(certificate.primal / certificate.dual - 1, abs=SLACK)
    ratio = max(certificate.margin, 0) / certificate.upper_bound
    assert certificate.fraction == pytest.approx(ratio, abs=SLACK)

    # The dual variables are feasible and prove no more than is stated, unless they are those of an
    # earlier hypothesis: then no more than is true.
    if hasattr(classifier, "dual_coef_"):
        alpha = classifier.dual_coef_[0]
        assert (alpha >= 0).all()
        if problem.loss == "hinge":
            assert (alpha <= problem.C_k * (1 + 4e-16)).all()
        dual = problem.dual_objective(alpha)
        most = certificate.dual if getattr(classifier, "averaging", "last") == "last" else optimum
        # Under a dual optimum of inf the objective cancels.
        assert dual <= most * (1 + SLACK) + SLACK * alpha.sum()


# ---------------------------------------------------------------------------------------------- truth


@quiet
@pytest.mark.parametrize(
    ("name", "stop"),
    [(name, "certificate") for name in NAMES] + [(name, "clean-pass") for name in STOPPING],
)
@examples(60)
@given(problem=problems(), max_iter=max_iters, eps=accuracies)
def test_certificate_is_true_whenever_the_fit_ends(name, stop, problem, max_iter, eps):
    params = {"eps": eps} if name in PROVING else {}
    if name in STOPPING:
        params["stop"] = stop
    problem = problem.of(name)
    assert_true(problem, problem.fit(name, max_iter=max_iter, **params))


@quiet
@examples(60)
@given(
    problem=problems(),
    max_iter=max_iters,
    averaging=st.sampled_from(["last", "longest", "averaged", "pocket"]),
    options=st.sampled_from(
        [{}, {"theta_init": 3.0, "tau": 0.5}, {"theta_init": None, "lam": 1.0}, {"alpha_bound": 2}]
    ),
    eta=st.sampled_from([1.0, 0.1]),
)
def test_certificate_of_every_averaging_is_true(problem, max_iter, averaging, options, eta):
    fit = problem.fit("perceptron", max_iter=max_iter, averaging=averaging, eta=eta, **options)
    assert_true(problem, fit)


@quiet
@pytest.mark.parametrize("name", NOISE_TOLERANT)
def test_threshold_that_is_no_weight_has_no_certificate(name):
    # Neither through the origin, nor through that of a space with one more feature.
    X, y = np.array([[2.0, 1.0], [-1.0, -2.0], [3.0, 2.0]]), np.array([1, -1, 1])
    declared = {field.name for field in dataclasses.fields(ALGORITHMS[name])}
    if "theta_init" in declared:
        classifier = ALGORITHMS[name](theta_init=1.0, intercept_scaling=0.0, random_state=0).fit(X, y)
        (certificate,) = classifier.certificates_
        assert (certificate.margin, certificate.primal) == (-math.inf, math.inf)
        assert (certificate.fraction, certificate.gap) == (0.0, math.inf)
        assert certificate.upper_bound >= oracles.maximum_margin(oracles.data_of(X, y, 0))


@quiet
@pytest.mark.parametrize("name", ONLINE)
@examples(30)
@given(problem=problems(), n_chunks=st.integers(1, 3))
def test_certificate_of_a_stream_is_true_for_all_samples_so_far(name, problem, n_chunks):
    # The margin of past samples is unknown; that no margin exceeds |a| / S is still proven.
    params = {"gamma": 0.1} if name == "pfm" and problem.hard else {}
    classifier = ALGORITHMS[name](**problem.params, **params)
    weight = np.ones(len(problem.y)) if problem.weight is None else problem.weight
    for rows in np.array_split(np.arange(len(problem.y)), min(n_chunks, len(problem.y))):
        classifier.partial_fit(problem.X[rows], problem.y[rows], [-1, 1], weight[rows])
    (certificate,) = classifier.certificates_
    assert (certificate.margin, certificate.primal) == (-math.inf, math.inf)
    assert (certificate.fraction, certificate.gap) == (0.0, math.inf)
    assert certificate.dual <= problem.optimum * (1 + SLACK)
    assert certificate.upper_bound >= problem.maximum_margin * (1 - SLACK)
    w = problem.weights(classifier)
    if name == "servedio-average" and problem.hard:
        bound = np.linalg.norm(w) / len(problem.y)
        # A sum that cancels to 0 proves nothing.
        assert certificate.upper_bound == (pytest.approx(bound) if bound > 0 else math.inf)


@quiet
@pytest.mark.parametrize("stop", ["certificate", "clean-pass"])
@examples(60)
@given(
    problem=problems(loss="hinge"),
    max_iter=max_iters,
    eps=accuracies,
    before_run=st.sampled_from([None, 0.9]),
)
def test_certificate_of_the_hinge_loss_is_true_whenever_the_fit_ends(
    stop, problem, max_iter, eps, before_run
):
    fit = problem.fit("mpu", max_iter=max_iter, eps=eps, stop=stop, before_run=before_run)
    assert_true(problem, fit)


@quiet
@examples(60)
@given(
    problem=problems(), max_iter=st.integers(1, 12), stop=st.sampled_from(["certificate", "clean-pass"])
)
def test_certificate_is_true_between_the_phases_of_a_run(problem, max_iter, stop):
    # A large accuracy before the run causes many short phases, each of which may be the last one.
    params = {"max_iter": max_iter, "stop": stop, "eps": 1e-4}
    assert_true(problem, problem.fit("mpu", before_run=0.9, **params))
    assert_true(problem, problem.fit("mpcs", b=0.01, **params))
    assert_true(problem, problem.fit("mpvs", b=0.01, **params))
    assert_true(problem, problem.fit("pdm-succ", eta=1.3, **params))


@quiet
@pytest.mark.parametrize("name", NAMES)
def test_certificate_of_every_class_is_true(name):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), np.arange(20) % 4
    X[np.arange(20), y % 3] += 2
    whole = Problem(X, y, C=10.0).of(name).fit(name, max_iter=40)
    for code in range(4):
        row = copy.copy(whole)
        for key in ("coef_", "intercept_", "dual_coef_", "certificates_", "mistakes_"):
            if hasattr(whole, key):
                setattr(row, key, getattr(whole, key)[code : code + 1])
        assert_true(Problem(X, np.where(y == code, 1, -1), C=10.0).of(name), row)


# ------------------------------------------------------------------------------------------- accuracy


@quiet
@pytest.mark.parametrize("name", PROVING)
@examples(60)
@given(problem=problems(), eps=accuracies)
def test_accuracy_is_reached_if_the_fit_says_so(name, problem, eps):
    classifier = problem.fit(name, eps=eps, max_iter=200)
    if classifier.converged_:
        assert classifier.certificates_[0].fraction >= 1 - eps
        optimum = problem.optimum
        assert problem.objective(problem.weights(classifier)) <= optimum / (1 - eps) ** 2 * (1 + SLACK)
    else:
        assert classifier.certificates_[0].fraction < 1 - eps
        assert classifier.n_iter_ == 200


@quiet
@examples(60)
@given(problem=problems(C=(1.0, 100.0), loss="hinge"), eps=accuracies)
def test_accuracy_of_the_hinge_loss_is_reached_if_the_fit_says_so(problem, eps):
    classifier = problem.fit("mpu", eps=eps, max_iter=200)
    if classifier.converged_:
        assert classifier.certificates_[0].gap <= eps
        objective = problem.objective(problem.weights(classifier))
        assert objective <= problem.optimum * (1 + eps) * (1 + SLACK)
    else:
        assert classifier.certificates_[0].gap > eps
        assert classifier.n_iter_ == 200


@pytest.mark.parametrize("C", [1.0, 100.0, math.inf])
@pytest.mark.parametrize("eps", [1.0, 0.5, 0.1, 0.01, 0.001])
@pytest.mark.parametrize(
    ("name", "params"),
    [("auto", {})]
    + [(name, {"stop": stop}) for name in STOPPING for stop in ("certificate", "clean-pass")],
)
def test_every_accuracy_is_reached_without_a_warning(name, params, eps, C):
    rng = np.random.default_rng(3)
    y = np.where(np.arange(20) % 2, 1, -1)
    X = rng.normal(size=(20, 3)) + np.outer(y, [2.0, 1.0, 0.0])
    X[np.abs(X @ [2, 1, 0]) < 1] += 1
    y = np.where(X @ [2, 1, 0] > 0, 1, -1)
    problem = Problem(X, y, C=C)
    classifier = problem.fit(name, eps=eps, max_iter=20_000, **params)
    assert classifier.converged_
    assert classifier.certificates_[0].fraction >= 1 - eps
    assert_true(problem, classifier)


@pytest.mark.parametrize("C", [1.0, 100.0, math.inf])
@pytest.mark.parametrize("eps", [1.0, 0.5, 0.1, 0.01, 0.001])
def test_every_accuracy_of_the_hinge_loss_is_reached_without_a_warning(eps, C):
    rng = np.random.default_rng(3)
    y = np.where(np.arange(20) % 2, 1, -1)
    X = rng.normal(size=(20, 3)) + np.outer(y, [4.0, 2.0, 0.0])
    problem = Problem(X, y, C=C, loss="hinge")
    classifier = problem.fit("mpu", eps=eps)
    assert classifier.converged_
    assert_true(problem, classifier)


@pytest.mark.parametrize("before_run", [1.0, 0.99, 0.5, 0.001])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_accuracy_before_the_run_sets_only_the_start(loss, before_run):
    rng = np.random.default_rng(3)
    y = np.where(np.arange(20) % 2, 1, -1)
    problem = Problem(rng.normal(size=(20, 3)) + np.outer(y, [2.0, 1.0, 0.0]), y, loss=loss)
    classifier = problem.fit("mpu", eps=0.01, before_run=before_run)
    assert classifier.converged_
    assert_true(problem, classifier)


# ------------------------------------------------------------------------- the papers' stopping rule


@quiet
@pytest.mark.parametrize("name", STOPPING)
@examples(40)
@given(problem=problems(separable=True), eps=accuracies)
def test_pass_without_updates_states_the_margin_with_the_best_slacks(name, problem, eps):
    classifier = problem.fit(name, eps=eps, stop="clean-pass", max_iter=60)
    (certificate,) = classifier.certificates_
    best = 1 / math.sqrt(2 * problem.objective(problem.weights(classifier)))
    assert certificate.margin == pytest.approx(best, rel=SLACK) or best == 0
    assert certificate.upper_bound >= problem.maximum_margin * (1 - SLACK)
    if classifier.converged_:
        assert certificate.fraction >= 1 - eps
        assert certificate.margin >= (1 - eps) * problem.maximum_margin * (1 - SLACK)


@quiet
@pytest.mark.parametrize("name", ["pdm", "pdm-succ"])
@examples(100)
@given(problem=problems(separable=True), eps=st.sampled_from([1.0, 0.5, 0.3, 0.1, 0.01]))
def test_dynamic_margin_after_a_pass_without_updates_is_that_of_the_theorem(name, problem, eps):
    # Theorem 3.2: it ends, and not short of its accuracy by more than rounding.
    classifier = problem.fit(name, eps=eps, stop="clean-pass", max_iter=2000)
    assert classifier.n_iter_ == 2000 or classifier.converged_
    if classifier.converged_:
        assert classifier.certificates_[0].fraction >= 1 - eps


@quiet
@pytest.mark.parametrize("name", ["perceptron", "margin-perceptron", "pfm"])
@examples(40)
@given(problem=problems())
def test_algorithm_without_accuracy_converges_only_with_a_pass_without_updates(name, problem):
    gamma = 0.5 * problem.maximum_margin or 1e-3
    classifier = problem.fit(name, max_iter=100, **({"gamma": gamma} if name == "pfm" else {}))
    if classifier.converged_ and problem.hard:
        assert problem.maximum_margin > 0
        assert classifier.certificates_[0].margin > 0
    if name == "pfm" and classifier.converged_:
        # (1 - eps) gamma of a gamma that the data have: a quarter of the maximum.
        assert classifier.certificates_[0].margin >= 0.25 * problem.maximum_margin * (1 - SLACK)
    elif name == "pfm" and problem.maximum_margin == 0:
        # Given a margin that inseparable data do not have, it may prove that they do not.
        assert classifier.n_iter_ == 100 or classifier.certificates_[0].upper_bound < 0.5 * gamma
    elif not classifier.converged_:
        assert classifier.n_iter_ == 100


def test_fixed_margin_given_a_margin_that_the_data_have_converges_without_a_warning():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(40) % 2, 1, -1)
    problem = Problem(rng.normal(size=(40, 3)) + np.outer(y, [4.0, 2.0, 0.0]), y, C=math.inf)
    for gamma in (0.9 * problem.maximum_margin, 1e-3):
        classifier = problem.fit("pfm", gamma=gamma, eps=0.1)
        assert classifier.converged_
        assert classifier.certificates_[0].margin >= 0.9 * gamma


def test_fixed_margin_beyond_the_maximum_ends_with_a_proof_of_infeasibility():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(40) % 2, 1, -1)
    problem = Problem(rng.normal(size=(40, 3)) + np.outer(y, [4.0, 2.0, 0.0]), y, C=math.inf)
    gamma = 1.5 * problem.maximum_margin
    with pytest.warns(ConvergenceWarning, match="no margin exceeds .* give a smaller gamma"):
        classifier = problem.fit("pfm", gamma=gamma, eps=0.1)
    assert not classifier.converged_
    assert problem.maximum_margin <= classifier.certificates_[0].upper_bound < 0.9 * gamma


# ---------------------------------------------------------------------------------- without a proof


def caught_fit(problem, name, **params):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        classifier = problem.fit(name, **params)
    assert [warning.category for warning in caught] == [ConvergenceWarning], [
        str(w.message) for w in caught
    ]
    return classifier, str(caught[0].message)


def crossed():
    """Exclusive or, off centre: no hyperplane separates it, and no weight vector cancels."""
    X = np.array([[2.0, 1.0], [-1.0, -2.0], [1.0, -1.0], [-2.0, 1.0], [3.0, 2.0]])
    return X, np.array([1, 1, -1, -1, 1])


@pytest.mark.parametrize("max_iter", [1, 2, 7, 30])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("name", WARNING)
def test_inseparable_data_end_at_max_iter_with_a_warning_that_states_the_certificate(
    name, fit_intercept, max_iter
):
    X, y = crossed()
    problem = Problem(X, y, rho=1.0 if fit_intercept else 0.0, C=math.inf)
    assert problem.maximum_margin == 0
    params = {"gamma": 1e-6} if name == "pfm" else {}
    classifier, message = caught_fit(problem, name, max_iter=max_iter, **params)
    (certificate,) = classifier.certificates_
    assert not classifier.converged_
    assert classifier.n_iter_ == max_iter
    assert message.startswith(
        f"{name} ({type(classifier).__name__}) did not converge: max_iter={max_iter} "
    )
    for number in (certificate.margin, certificate.upper_bound):
        assert f"{number:.6g}" in message
    assert f"{certificate.fraction:.4g}" in message
    assert f"{certificate.gap:.3g}" in message
    assert "A finite C" in message
    assert_true(problem, classifier)


@pytest.mark.parametrize("max_iter", [1, 2, 7, 30])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("name", SILENT)
def test_inseparable_data_raise_no_warning_in_noise_tolerant_algorithms(name, fit_intercept, max_iter):
    X, y = crossed()
    problem = Problem(X, y, rho=1.0 if fit_intercept else 0.0, C=math.inf).of(name)
    classifier = problem.fit(name, max_iter=max_iter)
    (certificate,) = classifier.certificates_
    assert certificate.margin <= 0 and certificate.primal == math.inf
    # An epoch without updates ends the run, even if mistakes are rejected or have an offset.
    assert classifier.converged_ or classifier.n_iter_ == max_iter
    assert_true(problem, classifier)


def test_inseparable_data_end_likewise_if_the_loss_is_called_hinge():
    # With C = inf both losses are the hard margin, of which a gap of inf says nothing.
    X, y = crossed()
    classifier, message = caught_fit(Problem(X, y, C=math.inf, loss="hinge"), "mpu", max_iter=7)
    assert f"{classifier.certificates_[0].upper_bound:.6g}" in message
    assert "A finite C" in message


@pytest.mark.parametrize("stop", ["certificate", "clean-pass"])
@pytest.mark.parametrize("name", PROVING)
def test_warning_with_a_finite_C_does_not_suggest_one(name, stop):
    X, y = crossed()
    problem = Problem(X, y, C=100.0)
    # By rules: one epoch of Newton steps is enough for data as small.
    by_rules = {"solver": "unlearning"} if name == "auto" else {}
    stopping = {"stop": stop} if name in STOPPING else {}
    classifier, message = caught_fit(problem, name, eps=1e-9, max_iter=1, **by_rules, **stopping)
    (certificate,) = classifier.certificates_
    assert "max_iter=1 " in message
    assert f"{certificate.upper_bound:.6g}" in message
    assert "finite C" not in message and "not separated" not in message


def test_warning_of_the_hinge_loss_states_the_gap():
    X, y = crossed()
    problem = Problem(X, y, C=100.0, loss="hinge")
    classifier, message = caught_fit(problem, "mpu", eps=1e-12, max_iter=1)
    assert f"{classifier.certificates_[0].gap:.3g}" in message
    assert re.search("duality gap", message)


@pytest.mark.parametrize("name", NAMES)
def test_weight_vector_that_cancels_to_zero_is_no_proof_and_no_error(name):
    # One point with both labels: after two updates a = 0, exactly, while S = 2.
    problem = Problem(np.array([[1.0, 2.0], [1.0, 2.0]]), np.array([1, -1]), C=math.inf).of(name)
    for max_iter in (1, 2, 3):
        if name in SILENT:
            classifier = problem.fit(name, max_iter=max_iter)
        else:
            classifier, _ = caught_fit(problem, name, max_iter=max_iter)
            assert not classifier.converged_
        (certificate,) = classifier.certificates_
        assert certificate.margin <= 0
        assert certificate.upper_bound >= 0
        assert certificate.fraction == 0
        assert np.isfinite(classifier.decision_function(problem.X)).all()


# ------------------------------------------------------------------------------------- arithmetic


@examples(300)
@given(
    margin=st.floats(1e-30, 1e30),
    excess=st.sampled_from([1.0, 1 + 2**-52, 1 - 2**-53, 1 - 2**-52, 1 + 1e-15, 1 - 1e-15, 1.1]),
    given_margin=st.booleans(),
)
@example(margin=0.1, excess=1.0, given_margin=True)
def test_rounding_at_the_optimum_never_gives_a_fraction_above_1(margin, excess, given_margin):
    primal = 0.5 / margin**2
    certificate = Certificate.from_bounds(primal, primal * excess, 7, margin if given_margin else None)
    assert certificate.fraction <= 1
    assert certificate.gap >= 0
    assert certificate.margin <= certificate.upper_bound
    assert certificate.dual <= certificate.primal


def test_certificate_before_any_proof():
    certificate = Certificate.from_bounds(math.inf, 0.0, 0, 0.0)
    assert (certificate.fraction, certificate.upper_bound, certificate.gap) == (0, math.inf, math.inf)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_accuracy_is_of_the_margin_or_of_the_hinge_objective(loss):
    certificate = Certificate.from_bounds(1.1, 1.0, 0)
    eps = 0.1 if loss == "hinge" else 1 - 1 / math.sqrt(1.1)
    assert loss_of(loss, 1.0).is_proven(certificate, eps * (1 + SLACK))
    assert not loss_of(loss, 1.0).is_proven(certificate, eps * (1 - SLACK))
