"""Certificates are true whenever a fit ends."""

import copy
import dataclasses
import math
from itertools import product

import exact_optima
import numpy as np
import oracles
import pytest
from algorithm_groups import ALGORITHMS, NAMES, NOISE_TOLERANT, ONLINE, STOPPING, quiet
from certified_problems import PROVING, SLACK, Problem, accuracies, assert_true, problems
from hypothesis import example, given
from hypothesis import strategies as st
from properties import examples

from margins.certificate import Certificate
from margins.losses import loss_of

max_iters = st.sampled_from([1, 2, 3, 7, 50])


@quiet
@pytest.mark.parametrize("name", NAMES)
@examples(6)
@given(
    problem=problems(),
    max_iter=max_iters,
    eps=accuracies,
    stop=st.sampled_from(["certificate", "clean-pass"]),
)
def test_certificate_is_true_whenever_the_fit_ends(name, problem, max_iter, eps, stop):
    params = {"eps": eps} if name in PROVING else {}
    if name in STOPPING:
        params["stop"] = stop
    problem = problem.of(name)
    assert_true(problem, problem.fit(name, max_iter=max_iter, **params))


@quiet
@examples(6)
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
def test_a_threshold_outside_the_weights_has_no_certificate(name):
    # Neither through the origin, nor through that of a space with one more feature.
    X, y = np.array([[2.0, 1.0], [-1.0, -2.0], [3.0, 2.0]]), np.array([1, -1, 1])
    declared = {field.name for field in dataclasses.fields(ALGORITHMS[name])}
    if "theta_init" in declared:
        classifier = ALGORITHMS[name](theta_init=1.0, intercept_scaling=0.0, random_state=0).fit(X, y)
        (certificate,) = classifier.certificates_
        assert (certificate.margin, certificate.primal) == (-math.inf, math.inf)
        assert (certificate.fraction, certificate.gap) == (0.0, math.inf)
        assert certificate.upper_bound >= exact_optima.maximum_margin(oracles.data_of(X, y, 0))


@quiet
@pytest.mark.parametrize("name", ONLINE)
@examples(6)
@given(problem=problems(), n_chunks=st.integers(1, 3))
def test_upper_bound_of_a_stream_is_true_of_all_samples_so_far(name, problem, n_chunks):
    # The margin achieved would need another pass; that no margin is larger than |a| / S is known.
    params = {"gamma": 0.1} if name == "pfm" and problem.hard else {}
    classifier = ALGORITHMS[name](**problem.params, **params)
    weight = np.ones(len(problem.y)) if problem.weight is None else problem.weight
    for rows in np.array_split(np.arange(len(problem.y)), min(n_chunks, len(problem.y))):
        classifier.partial_fit(problem.X[rows], problem.y[rows], [-1, 1], weight[rows])
    assert classifier.certificates_ == []
    (upper_bound,) = classifier.upper_bounds_
    assert upper_bound == 0 or 0.5 / upper_bound**2 <= problem.optimum * (1 + SLACK)
    assert upper_bound >= problem.maximum_margin * (1 - SLACK)
    w = problem.weights(classifier)
    if name == "servedio-average" and problem.hard:
        assert upper_bound == pytest.approx(np.linalg.norm(w) / len(problem.y))


@quiet
@pytest.mark.parametrize(
    ("name", "stop"),
    [*product(["mpu", "dcd"], ["certificate", "clean-pass"]), ("adatron", "certificate")],
)
@examples(6)
@given(
    problem=problems(loss="hinge"),
    max_iter=max_iters,
    eps=accuracies,
    before_run=st.sampled_from([None, 0.9]),
)
def test_certificate_of_the_hinge_loss_is_true_whenever_the_fit_ends(
    name, stop, problem, max_iter, eps, before_run
):
    params = {"before_run": before_run} if name == "mpu" else {}
    assert_true(problem, problem.fit(name, max_iter=max_iter, eps=eps, stop=stop, **params))


@quiet
@examples(6)
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


@examples(100)
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
