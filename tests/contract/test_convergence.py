"""A fit that says it has converged has reached its accuracy; another warns, with its certificate."""

import dataclasses
import math
import re
import warnings
from itertools import product

import numpy as np
import pytest
from algorithm_groups import NAMES, SILENT, STOPPING, quiet, shown_name
from certified_problems import PROVING, SLACK, Problem, accuracies, assert_true, problems
from hypothesis import given
from properties import examples
from sklearn.exceptions import ConvergenceWarning

import margins

WARNING = [name for name in NAMES if name not in SILENT]


# ---------------------------------------------------------------------------------------------- accuracy


@quiet
@pytest.mark.parametrize(
    ("name", "loss"), [*product(PROVING, ["squared_hinge"]), ("auto", "hinge"), ("mpu", "hinge")]
)
@examples(6)
@given(problem=problems(), eps=accuracies)
def test_accuracy_is_reached_if_the_fit_says_so(name, loss, problem, eps):
    is_hinge = loss == "hinge" and not problem.hard
    problem = dataclasses.replace(problem, loss=loss) if is_hinge else problem
    classifier = problem.fit(name, eps=eps, max_iter=200)
    (certificate,) = classifier.certificates_
    is_proven = certificate.gap <= eps if is_hinge else certificate.fraction >= 1 - eps
    if classifier.converged_:
        assert is_proven
        most = 1 + eps if is_hinge else 1 / (1 - eps) ** 2
        objective = problem.objective(problem.weights(classifier))
        assert objective <= problem.optimum * most * (1 + SLACK)
    else:
        assert not is_proven or classifier.get_params().get("stop") == "clean-pass" or name == "auto"
        # Or it has proven that no hyperplane separates the classes.
        assert classifier.n_iter_ == 200 or (problem.hard and problem.maximum_margin < 1e-4)


PENALTIES = [1.0, 100.0, math.inf]
ACCURACIES = [1.0, 0.5, 0.1, 0.01, 0.001]


@pytest.mark.parametrize(
    ("name", "params"),
    [("auto", {}), ("mpu", {"loss": "hinge"})]
    + [(name, {"stop": stop}) for name in STOPPING for stop in ("certificate", "clean-pass")],
)
def test_every_accuracy_is_reached_without_a_warning(name, params):
    rng = np.random.default_rng(3)
    y = np.where(np.arange(20) % 2, 1, -1)
    X = rng.normal(size=(20, 3)) + np.outer(y, [2.0, 1.0, 0.0])
    X[np.abs(X @ [2, 1, 0]) < 1] += 1
    y = np.where(X @ [2, 1, 0] > 0, 1, -1)
    for C, eps in product(PENALTIES, ACCURACIES):
        problem = Problem(X, y, C=C, loss=params.get("loss", "squared_hinge"))
        classifier = problem.fit(name, eps=eps, max_iter=20_000, **params)
        assert classifier.converged_
        assert_true(problem, classifier)


@pytest.mark.parametrize("before_run", [1.0, 0.99, 0.5, 0.001])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_accuracy_before_the_run_only_decides_where_it_starts(loss, before_run):
    rng = np.random.default_rng(3)
    y = np.where(np.arange(20) % 2, 1, -1)
    problem = Problem(rng.normal(size=(20, 3)) + np.outer(y, [2.0, 1.0, 0.0]), y, loss=loss)
    classifier = problem.fit("mpu", eps=0.01, before_run=before_run)
    assert classifier.converged_
    assert_true(problem, classifier)


# ----------------------------------------------------------------------------- the papers' stopping rule


@quiet
@pytest.mark.parametrize("name", STOPPING)
@examples(9)
@given(problem=problems(separable=True), eps=accuracies)
def test_pass_without_updates_states_the_margin_with_optimal_slacks(name, problem, eps):
    classifier = problem.fit(name, eps=eps, stop="clean-pass", max_iter=60)
    (certificate,) = classifier.certificates_
    best = 1 / math.sqrt(2 * problem.objective(problem.weights(classifier)))
    assert certificate.margin == pytest.approx(best, rel=SLACK) or best == 0
    assert certificate.upper_bound >= problem.maximum_margin * (1 - SLACK)
    if classifier.converged_:
        assert certificate.fraction >= 1 - eps
        assert certificate.margin >= (1 - eps) * problem.maximum_margin * (1 - SLACK)


@quiet
@pytest.mark.parametrize("name", ["perceptron", "margin-perceptron", "pfm"])
@examples(9)
@given(problem=problems())
def test_algorithm_without_accuracy_converges_only_by_a_pass_without_updates(name, problem):
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


def test_fixed_margin_converges_if_the_data_have_it_and_else_proves_that_they_do_not():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(40) % 2, 1, -1)
    problem = Problem(rng.normal(size=(40, 3)) + np.outer(y, [4.0, 2.0, 0.0]), y, C=math.inf)
    for gamma in (0.9 * problem.maximum_margin, 1e-3):
        classifier = problem.fit("pfm", gamma=gamma, eps=0.1)
        assert classifier.converged_
        assert classifier.certificates_[0].margin >= 0.9 * gamma
    gamma = 1.5 * problem.maximum_margin
    with pytest.warns(ConvergenceWarning, match="no margin exceeds .* give a smaller gamma"):
        classifier = problem.fit("pfm", gamma=gamma, eps=0.1)
    assert not classifier.converged_
    assert problem.maximum_margin <= classifier.certificates_[0].upper_bound < 0.9 * gamma


# --------------------------------------------------------------------------------------- without a proof


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


@pytest.mark.parametrize(("max_iter", "fit_intercept"), [(1, True), (7, True), (30, False)])
@pytest.mark.parametrize("name", WARNING)
def test_inseparable_data_end_at_max_iter_with_a_warning_that_states_the_certificate(
    name, fit_intercept, max_iter
):
    X, y = crossed()
    problem = Problem(X, y, rho=1.0 if fit_intercept else 0.0, C=math.inf)
    assert problem.maximum_margin == 0
    params = {"gamma": 1e-6} if name == "pfm" else {}
    classifier, message = caught_fit(problem, name, max_iter=max_iter, **params)
    # Those that converged_ is about: of alma, of its own norm.
    (certificate,) = getattr(classifier, "normalised_certificates_", classifier.certificates_)
    assert not classifier.converged_
    prefix = f"{shown_name(name)} did not converge: "
    if name == "auto" and classifier.n_iter_ < max_iter:  # it has proven that they are inseparable
        assert message.startswith(
            f"{prefix}no hyperplane separates the classes by a margin of more than "
        )
        assert certificate.upper_bound < 1e-9
    else:
        assert classifier.n_iter_ == max_iter
        assert message.startswith(f"{prefix}max_iter={max_iter} ")
    for number in (certificate.margin, certificate.upper_bound):
        assert f"{number:.6g}" in message
    assert f"{certificate.fraction:.4g}" in message
    assert f"{certificate.gap:.3g}" in message
    assert "finite C, which allows for that" in message
    assert ("or proves that no hyperplane does" in message) == (name != "auto")
    assert_true(problem, classifier)


@pytest.mark.parametrize(("max_iter", "fit_intercept"), [(1, True), (7, True), (30, False)])
@pytest.mark.parametrize("name", SILENT)
def test_algorithms_that_expect_noise_do_not_warn_about_inseparable_data(name, fit_intercept, max_iter):
    X, y = crossed()
    problem = Problem(X, y, rho=1.0 if fit_intercept else 0.0, C=math.inf).of(name)
    classifier = problem.fit(name, max_iter=max_iter)
    (certificate,) = classifier.certificates_
    assert certificate.margin <= 0 and certificate.primal == math.inf
    # An epoch without updates ends the run, also where mistakes are skipped or scores have an offset.
    assert classifier.converged_ or classifier.n_iter_ == max_iter
    assert_true(problem, classifier)


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
def test_a_weight_vector_that_cancels_to_zero_proves_nothing(name):
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


@pytest.mark.parametrize(
    ("name", "params"), [("mpu", {}), ("pdm", {}), ("auto", {"solver": "unlearning"})]
)
def test_a_warning_says_that_samples_are_long_for_their_penalty(name, params):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 7))
    y = np.where(X[:, 0] + rng.normal(size=60) > 0, 1, -1)
    for scale, is_long in ((1.0, False), (1e15, True)):
        classifier = margins.get(name)(C=1.0, eps=1e-12, max_iter=2, random_state=0, **params)
        with pytest.warns(ConvergenceWarning) as caught:
            classifier.fit(scale * X, y)
        (message,) = (str(warning.message) for warning in caught)
        assert ("C times the largest squared norm of a sample is " in message) == is_long


def test_a_proof_suffices_without_a_clean_pass():
    rng = np.random.default_rng(0)
    X, y = rng.integers(-4, 5, (51, 6)).astype(float), rng.integers(0, 2, 51)
    classifier = margins.get("pdm-succ")(eps=0.01, C=100.0, max_iter=300, random_state=0).fit(X, y)
    assert classifier.stop == "clean-pass" and classifier.n_iter_ == 300
    assert classifier.certificates_[0].fraction >= 0.99 and classifier.converged_
    short = margins.get("pdm-succ")(eps=0.01, C=100.0, max_iter=3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_iter=3"):
        assert not short.fit(X, y).converged_
