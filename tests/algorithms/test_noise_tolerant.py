"""Khardon & Wachman's noise tolerant perceptrons, by their public interface, replay their oracle."""

import math
import pickle
from itertools import product

import numpy as np
import oracles_noise_tolerant as oracle
import pytest
import sample_problems
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.utils import check_random_state

import margins
from margins.solvers.base import PhaseRecord

# These tests do not depend on whether a run ends with an epoch without updates.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SETTINGS = settings(derandomize=True, deadline=None, max_examples=10)
SEEDS = st.integers(0, 99)
# Whole numbers keep all sums on integer samples exact.
WHOLE = {"eta": 1.0, "theta_init": 4.0, "intercept_scaling": 2.0}
OPTIONS = [
    {"tau": tau, "lam": lam, "alpha_bound": alpha_bound}
    for tau, lam, alpha_bound in product([0.0, 0.5, 2.0], [0.0, 1.0], [math.inf, 1, 3])
]
LINEAR_AVERAGINGS = {  # whatever is one hypothesis, hence has coef_
    "last": {"averaging": "last"},
    "longest": {"averaging": "longest"},
    "averaged": {"averaging": "averaged", "weighting": "votes"},
    "averaged, accesses": {"averaging": "averaged", "weighting": "accesses"},
    "pocket": {"averaging": "pocket"},
}
AVERAGINGS = LINEAR_AVERAGINGS | {
    "voted": {"averaging": "voted"},
    "tail": {"averaging": "tail", "validation_fraction": 0.25},
}
# With held-out samples, means and maxima over the training set are not defined by the papers.
OF_ALL_SAMPLES = {key: value for key, value in AVERAGINGS.items() if key != "tail"}
# These need no sample after its access.
ONLINE = {key: value for key, value in OF_ALL_SAMPLES.items() if key != "pocket"}
SHUFFLES = ["once", "epochs", "never"]


def some(averagings):
    return pytest.mark.parametrize("averaging", averagings.values(), ids=averagings.keys())


def perceptron(**params):
    return margins.get("perceptron")(**params)


# ------------------------------------------------------------------------------ what the oracle expects


def accesses(m, shuffle, max_iter, seed, n_held_out=0):
    """The samples held out, and the orders of the epochs, as the package draws them."""
    generator = np.random.default_rng(int(check_random_state(seed).randint(np.iinfo(np.int32).max)))
    order = np.arange(m, dtype=np.int32)
    if shuffle != "never":
        generator.shuffle(order)
    held_out, order = order[:n_held_out].copy(), order[n_held_out:].copy()
    orders = [order.copy()]
    for _ in range(1, max_iter):
        if shuffle == "epochs":
            generator.shuffle(order)
        orders.append(order.copy())
    return held_out, orders


def replay(classifier, X, y, gram=None):
    """The oracle's run with the classifier's parameters: (trace, start of the tail) of each problem."""
    params = classifier.get_params()
    tail = params["averaging"] == "tail"
    n_held_out = math.ceil(params["validation_fraction"] * len(X)) if tail else 0
    held_out, orders = accesses(
        len(X), params["shuffle"], params["max_iter"], params["random_state"], n_held_out
    )
    options = {key: params[key] for key in ("lam", "alpha_bound", "eta") if key in params}
    if "tau" in params:
        unit, theta_init = params["theta_init"], params["theta_init"]
        options["tau"] = params["tau"]
    else:  # PAUM
        unit, theta_init = max(x @ x for x in X), 0.0
        options["tau"] = {+1: params["tau_positive"], -1: params["tau_negative"]}
    if params["fit_intercept"]:
        options |= {"theta_init": theta_init, "C": params["intercept_scaling"] ** 2, "unit": unit}
    else:
        options |= {"theta_init": 0.0, "C": 0.0, "unit": unit}
    problems = []
    for labels in oracle.one_vs_rest(y):
        if gram is None:
            trace = oracle.train(X, labels, orders, **options)
        else:
            trace = oracle.train_dual(gram, labels, orders, **options)
        rows = X if gram is None else gram
        start = oracle.tail_start(trace, rows[held_out], labels[held_out]) if tail else 0
        problems.append((trace, start))
    return problems


def hypothesis_of(trace, classifier):
    """The one hypothesis that is read out."""
    if classifier.averaging == "averaged":
        return oracle.averaged(trace, classifier.weighting)
    return {"last": oracle.last, "longest": oracle.longest, "pocket": oracle.pocket}[
        classifier.averaging
    ](trace)


def assert_replays(classifier, problems, queries, rows=None, err_msg=""):
    """All that the fit has found is the oracle's, bit for bit.

    queries   the points that are predicted
    rows      the same in the oracle's terms, if they differ: rows of the Gram matrix
    """
    rows = queries if rows is None else rows
    votes = classifier.averaging in ("voted", "tail")
    traces = [trace for trace, _ in problems]
    assert_counts(classifier, traces, err_msg)
    if votes or hasattr(classifier, "votes_"):
        assert_votes(classifier, problems, err_msg)
    if votes:
        assert not hasattr(classifier, "coef_")
        expected = [oracle.voted_scores(trace, rows, start) for trace, start in problems]
    else:
        hypotheses = [hypothesis_of(trace, classifier) for trace in traces]
        expected = [oracle.scores(hypothesis, rows) for hypothesis in hypotheses]
        assert_hypotheses(classifier, hypotheses, err_msg)
    expected = expected[0] if len(expected) == 1 else np.column_stack(expected)
    scores = classifier.decision_function(queries)
    assert scores.dtype == np.float64
    if classifier.averaging == "averaged":  # a mean is not an integer: sums of its products are rounded
        assert_allclose(scores, expected, rtol=1e-12, atol=1e-11, err_msg=err_msg)
    else:
        assert_array_equal(scores, expected, err_msg=err_msg)
    chosen = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
    assert_array_equal(classifier.predict(queries), classifier.classes_[chosen], err_msg=err_msg)


def assert_counts(classifier, traces, err_msg=""):
    """Updates and learning curves are the oracle's, and no update is missing after an early end."""
    assert type(classifier.n_updates_) is int
    assert classifier.n_updates_ == sum(len(trace.mistakes) for trace in traces), err_msg
    assert len(classifier.learning_curve_) == len(traces)
    lengths = []
    for curve, trace in zip(classifier.learning_curve_, traces, strict=True):
        found = [(record.epoch, record.updates, record.mistakes) for record in curve]
        n_epochs = len(trace.updates_after_epoch)
        expected = list(
            zip(
                range(1, n_epochs + 1),
                trace.updates_after_epoch,
                trace.mistakes_of_epoch,
                strict=True,
            )
        )
        assert found == expected[: len(found)], err_msg
        assert found, err_msg
        assert len(found) == n_epochs or found[-1][1] == len(trace.mistakes), err_msg
        lengths.append(len(found))
    assert classifier.n_iter_ == max(lengths), err_msg


def assert_votes(classifier, problems, err_msg=""):
    assert len(classifier.votes_) == len(classifier.mistakes_) == len(problems)
    distinct = sorted({j for trace, _ in problems for j in trace.mistakes})
    assert_array_equal(classifier.support_, distinct, err_msg=err_msg)
    for votes, mistakes, (trace, start) in zip(
        classifier.votes_, classifier.mistakes_, problems, strict=True
    ):
        assert votes.dtype == np.int64 and votes.shape == (len(trace.mistakes) + 1,)
        assert mistakes.dtype == np.int32 and mistakes.shape == (len(trace.mistakes),)
        assert_array_equal(votes[start:], trace.votes[start:], err_msg=err_msg)
        assert_array_equal(classifier.support_[mistakes], trace.mistakes, err_msg=err_msg)


def assert_hypotheses(classifier, hypotheses, err_msg=""):
    expected = np.stack([w for w, _ in hypotheses])
    if hasattr(classifier, "coef_"):
        assert_array_equal(classifier.coef_, expected, err_msg=err_msg)
    else:  # a kernel's: signed coefficients of training samples
        assert classifier.dual_coef_.shape == (len(hypotheses), len(classifier.support_))
        found = np.zeros_like(expected)
        found[:, classifier.support_] = classifier.dual_coef_
        assert_array_equal(found, expected, err_msg=err_msg)
    intercepts = [-theta for _, theta in hypotheses]
    if classifier.averaging == "averaged":  # theta_init may be added to a mean that is rounded already
        assert_allclose(classifier.intercept_, intercepts, rtol=1e-13, atol=1e-13, err_msg=err_msg)
    else:
        assert_array_equal(classifier.intercept_, intercepts, err_msg=err_msg)


def state(classifier):
    """All that a fit has found, in a form to be compared."""
    return {
        key: [np.asarray(plain(entry)) for entry in value] if isinstance(value, list) else plain(value)
        for key, value in vars(classifier).items()
        if key.endswith("_")
    }


def plain(value):
    if sparse.issparse(value):
        return value.toarray()
    if isinstance(value, list):  # a learning curve
        if value and isinstance(value[0], PhaseRecord):
            return [(record.solver, record.epochs, record.updates) for record in value]
        return [(record.epoch, record.updates, record.mistakes) for record in value]
    if type(value).__eq__ is object.__eq__:  # a helper: what it does shows in the decisions
        return type(value).__name__
    return value


def assert_same_fit(one, other, *, besides=()):
    """Bit for bit."""
    found, expected = state(one), state(other)
    assert found.keys() == expected.keys()
    for key in found.keys() - set(besides):
        if isinstance(expected[key], list):
            assert len(found[key]) == len(expected[key]), key
            for left, right in zip(found[key], expected[key], strict=True):
                assert_array_equal(left, right, err_msg=key)
        else:
            assert_array_equal(found[key], expected[key], err_msg=key)


def queries_of(X, seed, n_rows=12):
    """Whole test rows, the training samples among them."""
    rows = np.random.default_rng(seed).integers(-5, 6, (n_rows, X.shape[1])).astype(float)
    return np.vstack([X, rows])


@st.composite
def problems_of_three(draw):
    """X (m, d) of small integers and labels of three classes, each of which occurs."""
    X, _ = draw(sample_problems.problems(max_samples=9))
    X = np.vstack([X, X[:1] - 1])
    y = np.array(draw(st.lists(st.integers(0, 2), min_size=len(X), max_size=len(X))))
    y[:3] = draw(st.permutations(range(3)))
    return X, np.array(["ant", "bee", "cat"])[y]


def without_zero_rows(X):
    """The package rejects them if nothing can be learned from them."""
    X = X.copy()
    X[~X.any(axis=1), 0] = 1
    return X


def clouds(n_classes=2, n_samples=80, n_features=4, distance=1.0, seed=0):
    """Overlapping normal clouds."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_samples) % n_classes
    centres = distance * rng.normal(size=(n_classes, n_features))
    return centres[y] + rng.normal(size=(n_samples, n_features)), y


# ---------------------------------------------------------------------------------- the training loop


@pytest.mark.parametrize("shuffle", SHUFFLES)
@some(AVERAGINGS)
@SETTINGS
@given(problem=sample_problems.problems(), seed=SEEDS)
def test_every_combination_of_options_replays_the_oracle(averaging, shuffle, problem, seed):
    X, y = problem
    queries = queries_of(X, seed)
    for options in OPTIONS:
        classifier = perceptron(
            **WHOLE, **options, **averaging, shuffle=shuffle, max_iter=7, random_state=seed
        )
        classifier.fit(X, y)
        assert_array_equal(classifier.classes_, [-1, 1])
        assert_replays(classifier, replay(classifier, X, y), queries, err_msg=str(options))


@pytest.mark.parametrize("fit_intercept", [True, False])
@some(AVERAGINGS)
@SETTINGS
@given(
    problem=sample_problems.problems(),
    seed=SEEDS,
    theta_init=st.sampled_from([1.0, 2.0, 10.0]),
    intercept_scaling=st.sampled_from([0.0, 1.0, 3.0]),
    eta=st.sampled_from([0.25, 1.0, 2.0]),
    tau=st.sampled_from([0.0, 0.5, 1.0]),
)
def test_thresholds_replay_the_oracle(
    averaging, fit_intercept, problem, seed, theta_init, intercept_scaling, eta, tau
):
    X, y = problem
    X = without_zero_rows(X)
    classifier = perceptron(
        theta_init=theta_init,
        intercept_scaling=intercept_scaling,
        fit_intercept=fit_intercept,
        eta=eta,
        tau=tau,
        max_iter=7,
        random_state=seed,
        **averaging,
    ).fit(X, y)
    assert_replays(classifier, replay(classifier, X, y), queries_of(X, seed))
    if not fit_intercept and hasattr(classifier, "intercept_"):
        assert_array_equal(classifier.intercept_, [0.0])


@pytest.mark.parametrize("alpha_bound", [math.inf, 2])
@some(AVERAGINGS)
@SETTINGS
@given(problem=sample_problems.problems(max_samples=6), seed=SEEDS)
def test_an_early_end_gives_the_result_of_all_epochs(averaging, alpha_bound, problem, seed):
    X, y = problem
    for shuffle in SHUFFLES:
        classifier = perceptron(
            **WHOLE,
            **averaging,
            alpha_bound=alpha_bound,
            shuffle=shuffle,
            max_iter=60,
            random_state=seed,
        ).fit(X, y)
        assert_replays(classifier, replay(classifier, X, y), queries_of(X, seed))


@some(AVERAGINGS)
def test_votes_of_skipped_epochs_are_integers(averaging):
    X, y = np.array([[2.0], [-1.0], [3.0], [-2.0]]), np.array([1, -1, 1, -1])
    few, many = (
        perceptron(**averaging, shuffle="never", max_iter=max_iter).fit(X, y) for max_iter in (50, 10**9)
    )
    assert many.n_updates_ == few.n_updates_
    n_accesses = 3 if averaging["averaging"] == "tail" else 4
    if hasattr(many, "votes_"):
        assert_array_equal(many.votes_[0][:-1], few.votes_[0][:-1])
        assert many.votes_[0][-1] - few.votes_[0][-1] == n_accesses * (10**9 - 50)
    assert_array_equal(many.predict(X), y)


def test_classical_perceptron_is_the_default():
    expected = {
        "tau": 0.0,
        "lam": 0.0,
        "alpha_bound": math.inf,
        "eta": 1.0,
        "theta_init": 0.0,
        "intercept_scaling": 1.0,
        "averaging": "last",
        "weighting": "votes",
        "validation_fraction": 0.1,
        "shuffle": "epochs",
        "max_iter": 1000,
        "kernel": "linear",
        "degree": 3,
        "gamma": "scale",
        "coef0": 0.0,
        "cache_size": 200,
    }
    params = perceptron().get_params()
    assert {key: params[key] for key in expected} == expected


@pytest.mark.parametrize("shuffle", SHUFFLES)
@SETTINGS
@given(problem=sample_problems.problems(), seed=SEEDS)
def test_default_perceptron_replays_the_oracle(shuffle, problem, seed):
    X, y = problem
    classifier = perceptron(shuffle=shuffle, max_iter=20, random_state=seed).fit(X, y)
    assert_replays(classifier, replay(classifier, X, y), queries_of(X, seed))


# -------------------------------------------------------------------------- scales, and values by data


@pytest.mark.parametrize("tau", [0.0, 0.5])
@some(OF_ALL_SAMPLES)
def test_values_left_to_the_data_are_mean_squared_norms(averaging, tau):
    X, y = clouds(seed=3)
    mean = np.mean(np.sum(X**2, axis=1))
    params = {"tau": tau, "eta": 0.1, "max_iter": 10, "random_state": 0, **averaging}
    by_data = perceptron(theta_init=None, intercept_scaling=None, **params).fit(X, y)
    given_ = perceptron(theta_init=mean, intercept_scaling=math.sqrt(mean), **params).fit(X, y)
    half = perceptron(theta_init=None, intercept_scaling=math.sqrt(mean), **params).fit(X, y)
    assert by_data.n_updates_ == given_.n_updates_ == half.n_updates_ > 0
    for other in (given_, half):
        assert_allclose(by_data.decision_function(X), other.decision_function(X), rtol=1e-9, atol=1e-9)
    if hasattr(by_data, "coef_"):
        assert_allclose(by_data.coef_, given_.coef_, rtol=1e-9)
        assert_allclose(by_data.intercept_, given_.intercept_, rtol=1e-9)
    gram = perceptron(theta_init=None, intercept_scaling=None, kernel="precomputed", **params)
    gram.fit(X @ X.T, y)
    assert gram.n_updates_ == by_data.n_updates_
    assert_allclose(gram.decision_function(X @ X.T), by_data.decision_function(X), rtol=1e-9, atol=1e-9)


@some(AVERAGINGS)
@SETTINGS
@given(problem=sample_problems.problems(), seed=SEEDS, factor=st.sampled_from([0.125, 4.0]))
def test_only_the_ratio_of_eta_to_theta_init_matters(averaging, problem, seed, factor):
    X, y = problem
    params = {"tau": 0.5, "intercept_scaling": 2.0, "max_iter": 7, "random_state": seed, **averaging}
    one = perceptron(eta=1.0, theta_init=4.0, lam=1.0, **params).fit(X, y)
    # The offset of the lambda-trick does not depend on eta, so it is scaled as well.
    other = perceptron(eta=factor, theta_init=4.0 * factor, lam=factor, **params).fit(X, y)
    assert other.n_updates_ == one.n_updates_
    queries = queries_of(X, seed)
    assert_array_equal(other.predict(queries), one.predict(queries))
    scale = 1 if averaging["averaging"] in ("voted", "tail") else factor
    assert_array_equal(other.decision_function(queries), scale * one.decision_function(queries))


# ----------------------------------------------------------------------------------------------- names


KW = {"eta": 0.1, "theta_init": None, "intercept_scaling": None, "shuffle": "once", "max_iter": 100}
PRESETS = {
    "pam": {"tau": 1.0},
    "lambda-trick": {"lam": 1.0},
    "alpha-bound": {"alpha_bound": 20},
    "voted-perceptron": {"averaging": "voted"},
    "averaged-perceptron": {"averaging": "averaged"},
    "longest-survivor": {"averaging": "longest"},
    "pocket": {"averaging": "pocket"},
}


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_perceptrons_with_other_defaults(name):
    expected = perceptron().get_params() | KW | PRESETS[name]
    assert margins.get(name)().get_params() == expected


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_the_explicitly_configured_perceptron(name, n_classes):
    X, y = clouds(n_classes=n_classes)
    preset = margins.get(name)(random_state=1).fit(X, y)
    explicit = perceptron(**KW, **PRESETS[name], random_state=1).fit(X, y)
    assert_same_fit(preset, explicit)
    assert_array_equal(preset.decision_function(X), explicit.decision_function(X))


def test_every_name_is_registered():
    assert {*PRESETS, "perceptron", "paum", "servedio-average"} <= set(margins.available())


@pytest.mark.parametrize("fit_intercept", [True, False])
@some(OF_ALL_SAMPLES)
@SETTINGS
@given(
    problem=sample_problems.problems(),
    seed=SEEDS,
    tau_positive=st.sampled_from([0.0, 0.5, 1.0]),
    tau_negative=st.sampled_from([0.0, 0.25, 2.0]),
    intercept_scaling=st.sampled_from([1.0, 3.0]),
)
def test_uneven_margins_replay_the_oracle(
    averaging, fit_intercept, problem, seed, tau_positive, tau_negative, intercept_scaling
):
    X, y = problem
    X = without_zero_rows(X)
    classifier = margins.get("paum")(
        tau_positive=tau_positive,
        tau_negative=tau_negative,
        intercept_scaling=intercept_scaling,
        fit_intercept=fit_intercept,
        max_iter=7,
        random_state=seed,
        **averaging,
    )
    assert "tau" not in classifier.get_params()
    classifier.fit(X, y)
    assert_replays(classifier, replay(classifier, X, y), queries_of(X, seed))


def test_uneven_margins_step_by_the_squared_radius():
    X, y = clouds(seed=5)
    params = {"tau_positive": 0.3, "tau_negative": 0.1, "max_iter": 20, "random_state": 0}
    by_data = margins.get("paum")(intercept_scaling=None, **params).fit(X, y)
    radius = math.sqrt(np.max(np.sum(X**2, axis=1)))
    given_ = margins.get("paum")(intercept_scaling=radius, **params).fit(X, y)
    assert by_data.n_updates_ == given_.n_updates_ > 0
    assert_allclose(by_data.coef_, given_.coef_, rtol=1e-9)
    assert_allclose(by_data.intercept_, given_.intercept_, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("more", [(0.5, 0.0), (0.0, 0.5)])
def test_uneven_margins_reach_the_guaranteed_margin(more):
    # The margin of class j is at least gamma tau_j / (sqrt(8) (R^2 + max tau)), tau not in units.
    X, y = clouds(distance=0.0, seed=2)
    X[:, 0] = np.where(y == 1, 1, -1) * (1 + np.abs(X[:, 0])) + 0.5  # gamma >= 1, along this axis
    X *= 0.25
    tau_positive, tau_negative = more
    classifier = margins.get("paum")(
        tau_positive=tau_positive, tau_negative=tau_negative, max_iter=100_000, random_state=0
    ).fit(X, y)
    assert_array_equal(classifier.predict(X), y)
    scores = classifier.decision_function(X) / np.linalg.norm(classifier.coef_)
    sqradius = np.max(np.sum(X**2, axis=1))
    for sign, label, tau in ((1, 1, tau_positive), (-1, 0, tau_negative)):
        promised = 0.25 * tau * sqradius / (math.sqrt(8) * (sqradius + max(more) * sqradius))
        assert np.min(sign * scores[y == label]) >= promised


@SETTINGS
@given(problem=sample_problems.problems(), seed=SEEDS)
def test_servedios_average_adds_every_sample_once(problem, seed):
    X, y = problem
    X = without_zero_rows(X)
    classifier = margins.get("servedio-average")(random_state=seed).fit(X, y)
    w, theta = oracle.servedio_average(X, y)
    assert_array_equal(classifier.coef_, [w])
    assert_array_equal(classifier.intercept_, [-theta])
    assert classifier.n_updates_ == len(X)
    assert classifier.n_iter_ == 1
    assert_array_equal(classifier.decision_function(X), X @ w)


def test_servedios_average_of_many_classes():
    X, y = clouds(n_classes=3)
    classifier = margins.get("servedio-average")(random_state=0).fit(X, y)
    expected = [oracle.servedio_average(X, labels)[0] for labels in oracle.one_vs_rest(y)]
    assert_allclose(classifier.coef_, expected, rtol=1e-12)
    assert_array_equal(classifier.intercept_, np.zeros(3))
    assert classifier.n_updates_ == 3 * len(X)


# --------------------------------------------------------------------------------- layouts and classes


@pytest.mark.parametrize("layout", sample_problems.LAYOUTS)
@some(AVERAGINGS)
@settings(SETTINGS, max_examples=4)
@given(problem=sample_problems.problems(), seed=SEEDS)
def test_every_layout_gives_the_same_fit(averaging, layout, problem, seed):
    X, y = problem
    make = sample_problems.LAYOUTS[layout]
    params = {**WHOLE, **averaging, "tau": 0.5, "lam": 1.0, "max_iter": 7, "random_state": seed}
    expected = perceptron(**params).fit(X, y)
    classifier = perceptron(**params).fit(make(X), y)
    # A mean is not an integer: the rounding of its products depends on the layout.
    averaged = averaging["averaging"] == "averaged"
    assert_same_fit(classifier, expected, besides=["certificates_"] if averaged else [])
    queries = queries_of(X, seed)
    one, other = expected.decision_function(queries), classifier.decision_function(make(queries))
    if averaged:
        assert_allclose(other, one, rtol=1e-12, atol=1e-11)
    else:
        assert_array_equal(other, one)


@pytest.mark.parametrize("options", [OPTIONS[0], OPTIONS[-1]], ids=["plain", "all options"])
@some(AVERAGINGS)
@SETTINGS
@given(problem=problems_of_three(), seed=SEEDS)
def test_three_classes_are_three_problems_in_one_order(averaging, options, problem, seed):
    X, y = problem
    classifier = perceptron(**WHOLE, **options, **averaging, max_iter=7, random_state=seed).fit(X, y)
    assert_array_equal(classifier.classes_, ["ant", "bee", "cat"])
    queries = queries_of(X, seed)
    assert classifier.decision_function(queries).shape == (len(queries), 3)
    assert len(classifier.certificates_) == 3
    assert_replays(classifier, replay(classifier, X, y), queries)


@some(AVERAGINGS)
def test_threads_change_nothing(averaging):
    X, y = clouds(n_classes=4)
    params = {**averaging, "eta": 0.1, "theta_init": None, "max_iter": 20, "random_state": 0}
    alone, together = (perceptron(n_jobs=n_jobs, **params).fit(X, y) for n_jobs in (1, 4))
    assert_same_fit(together, alone)
    assert_array_equal(together.decision_function(X), alone.decision_function(X))


@some(AVERAGINGS)
def test_predictions_for_many_rows_are_complete(averaging):
    rng = np.random.default_rng(0)
    X = rng.integers(-4, 5, (60, 7)).astype(float)
    y = rng.choice([-1, 1], 60)
    classifier = perceptron(**WHOLE, **averaging, max_iter=30, random_state=0).fit(X, y)
    assert classifier.n_updates_ > 500  # nothing separates these
    queries = rng.integers(-9, 10, (3000, 7)).astype(float)
    problems = replay(classifier, X, y)
    assert_replays(classifier, problems, queries)
    if averaging["averaging"] in ("voted", "tail"):
        scores = classifier.decision_function(queries)
        assert_array_equal(scores, np.round(scores))
        for make in sample_problems.LAYOUTS.values():
            assert_array_equal(classifier.decision_function(make(queries)), scores)
        assert classifier.decision_function(queries[:1]).shape == (1,)
        assert_array_equal(classifier.decision_function(queries[:1]), scores[:1])
        assert_array_equal(
            classifier.support_vectors_[classifier.mistakes_[0]], X[problems[0][0].mistakes]
        )


def test_a_tie_of_votes_is_the_first_class():
    X, y = np.array([[1.0], [-1.0]]), np.array([-1, 1])
    classifier = perceptron(averaging="voted", fit_intercept=False, max_iter=5, shuffle="never").fit(
        X, y
    )
    assert_array_equal(classifier.decision_function([[0.0]]), [0.0])
    assert_array_equal(classifier.predict([[0.0]]), [-1])


# ---------------------------------------------------------------------------------------------- copies


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("n_classes", [2, 3])
@some(AVERAGINGS)
def test_pickled_classifier_is_the_same_classifier(averaging, n_classes, kernel):
    X, y = clouds(n_classes=n_classes)
    classifier = perceptron(**KW, **averaging, kernel=kernel, random_state=0).fit(X, y)
    copy = pickle.loads(pickle.dumps(classifier))
    assert copy.get_params() == classifier.get_params()
    assert_same_fit(copy, classifier)
    assert_array_equal(copy.decision_function(X), classifier.decision_function(X))


@some(AVERAGINGS)
def test_clone_is_unfitted_and_fits_the_same_classifier(averaging):
    X, y = clouds()
    classifier = perceptron(**KW, **averaging, random_state=5).fit(X, y)
    copy = clone(classifier)
    assert not state(copy)
    assert_same_fit(copy.fit(X, y), classifier)


@pytest.mark.parametrize("later", AVERAGINGS)
@some(AVERAGINGS)
def test_second_fit_does_not_depend_on_the_first(averaging, later):
    X, y = clouds(n_classes=3)
    Z, z = clouds(n_features=3, seed=1)
    later = {"weighting": "votes"} | AVERAGINGS[later]
    again = perceptron(**KW, **averaging, random_state=0).fit(X, y).set_params(**later)
    assert_same_fit(again.fit(Z, z), perceptron(**KW, **later, random_state=0).fit(Z, z))


# ------------------------------------------------------------------------------------------ partial_fit


def in_chunks(classifier, X, y, n_chunks):
    classes = np.unique(y)
    for rows in np.array_split(np.arange(len(y)), n_chunks):
        assert classifier.partial_fit(X[rows], y[rows], classes=classes) is classifier
    return classifier


def assert_same_online(one, other, queries):
    """All that does not speak of which call brought a sample."""
    for name in ("coef_", "intercept_"):
        assert hasattr(one, name) == hasattr(other, name)
        if hasattr(one, name):
            assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert one.n_updates_ == other.n_updates_
    if one.averaging == "voted":
        for left, right in zip(one.votes_, other.votes_, strict=True):
            assert_array_equal(left, right)
        for left, right in zip(one.mistakes_, other.mistakes_, strict=True):
            assert_array_equal(plain(one.support_vectors_)[left], plain(other.support_vectors_)[right])
    assert_array_equal(one.decision_function(queries), other.decision_function(queries))
    assert_array_equal(one.predict(queries), other.predict(queries))


@pytest.mark.parametrize("tau", [0.0, 0.5])
@some(ONLINE)
@SETTINGS
@given(problem=sample_problems.problems(), seed=SEEDS, n_chunks=st.integers(2, 4))
def test_chunks_are_one_pass_in_their_order(averaging, tau, problem, seed, n_chunks):
    X, y = problem
    params = {**WHOLE, **averaging, "tau": tau}
    whole = perceptron(**params, shuffle="never", max_iter=1).fit(X, y)
    queries = queries_of(X, seed)
    assert_replays(whole, replay(whole, X, y), queries)
    assert_same_online(perceptron(**params).partial_fit(X, y, classes=[-1, 1]), whole, queries)
    chunks = [part for part in range(n_chunks) if part < len(X)]
    assert_same_online(in_chunks(perceptron(**params), X, y, len(chunks)), whole, queries)


@pytest.mark.parametrize("layout", ["dense", "dense float32", "CSR"])
@pytest.mark.parametrize("n_classes", [2, 3])
@some(ONLINE)
def test_chunks_of_real_values_are_one_pass_bit_for_bit(averaging, n_classes, layout):
    X, y = clouds(n_classes=n_classes, n_features=11, distance=0.3)
    X = sample_problems.LAYOUTS[layout](X)
    params = {**averaging, "eta": 0.1, "theta_init": 3.3, "intercept_scaling": 1.7, "tau": 0.2}
    whole = perceptron(**params, shuffle="never", max_iter=1).fit(X, y)
    assert whole.n_updates_ > 10
    assert_same_online(perceptron(**params).partial_fit(X, y, classes=np.unique(y)), whole, X)
    for n_chunks in (2, 7, len(y)):
        assert_same_online(in_chunks(perceptron(**params), X, y, n_chunks), whole, X)


def test_partial_fit_rejects_changes_to_a_stream():
    X, y = clouds(n_classes=3)
    classifier = perceptron().partial_fit(X[:10], y[:10], classes=[0, 1, 2])
    with pytest.raises(ValueError):
        classifier.partial_fit(X, y + 1)
    with pytest.raises(ValueError):
        classifier.partial_fit(X[:, :3], y)
    with pytest.raises(ValueError):
        classifier.partial_fit(X, y, classes=[0, 1])


# --------------------------------------------------------------------------------------------- kernels


def linear(A, B):
    return A @ B.T


def shifted_square(A, B):
    return (A @ B.T + 1) ** 2


@pytest.mark.parametrize("options", [OPTIONS[0], OPTIONS[8], OPTIONS[-1]], ids=["plain", "tau", "all"])
@some(AVERAGINGS)
@SETTINGS
@given(problem=sample_problems.problems(), seed=SEEDS)
def test_linear_kernel_is_the_primal_run(averaging, options, problem, seed):
    X, y = problem
    queries = queries_of(X, seed)
    params = {**WHOLE, **options, **averaging, "max_iter": 7, "random_state": seed}
    primal = perceptron(**params).fit(X, y)
    by_call = perceptron(kernel=linear, **params).fit(X, y)
    by_gram = perceptron(kernel="precomputed", **params).fit(X @ X.T, y)
    problems = replay(primal, X, y, gram=X @ X.T)
    rows = queries @ X.T
    assert_replays(by_call, problems, queries, rows)
    assert_replays(by_gram, problems, rows)
    for dual, points in ((by_call, queries), (by_gram, rows)):
        assert not hasattr(dual, "coef_")
        assert dual.n_updates_ == primal.n_updates_
        scores = primal.decision_function(queries)
        if averaging["averaging"] == "averaged":
            assert_allclose(dual.decision_function(points), scores, rtol=1e-12, atol=1e-11)
        else:
            assert_array_equal(dual.decision_function(points), scores)
        if hasattr(primal, "votes_"):
            assert_array_equal(dual.votes_[0], primal.votes_[0])
            assert_array_equal(dual.mistakes_[0], primal.mistakes_[0])
            assert_array_equal(dual.support_, primal.support_)


@pytest.mark.parametrize("layout", ["dense", "dense float32", "Fortran", "CSR", "CSR int64"])
@some(AVERAGINGS)
@settings(SETTINGS, max_examples=5)
@given(problem=sample_problems.problems(), seed=SEEDS)
def test_polynomial_kernel_replays_the_oracle(averaging, layout, problem, seed):
    X, y = problem
    queries = queries_of(X, seed)
    make = sample_problems.LAYOUTS[layout]
    params = {**WHOLE, **averaging, "tau": 0.5, "lam": 1.0, "max_iter": 7, "random_state": seed}
    classifier = perceptron(kernel="poly", degree=2, gamma=1.0, coef0=1.0, **params).fit(make(X), y)
    problems = replay(classifier, X, y, gram=shifted_square(X, X))
    assert_replays(classifier, problems, make(queries), shifted_square(queries, X))
    assert_array_equal(plain(classifier.support_vectors_), X[classifier.support_])


@some(AVERAGINGS)
@SETTINGS
@given(problem=problems_of_three(), seed=SEEDS)
def test_kernel_problems_of_three_classes_share_their_support(averaging, problem, seed):
    X, y = problem
    queries = queries_of(X, seed)
    classifier = perceptron(
        **WHOLE, **averaging, kernel=shifted_square, max_iter=7, random_state=seed
    ).fit(X, y)
    problems = replay(classifier, X, y, gram=shifted_square(X, X))
    assert_replays(classifier, problems, queries, shifted_square(queries, X))


KERNELS = {
    "rbf": ({"kernel": "rbf", "gamma": 0.3}, lambda A, B: rbf_kernel(A, B, gamma=0.3)),
    "rbf, scale": (
        {"kernel": "rbf"},
        lambda A, B: rbf_kernel(A, B, gamma=1 / (B.shape[1] * B.var())),
    ),
    "rbf, auto": (
        {"kernel": "rbf", "gamma": "auto"},
        lambda A, B: rbf_kernel(A, B, gamma=1 / B.shape[1]),
    ),
    "poly": (
        {"kernel": "poly", "gamma": 0.5, "coef0": 0.7},
        lambda A, B: polynomial_kernel(A, B, degree=3, gamma=0.5, coef0=0.7),
    ),
}


@pytest.mark.parametrize("name", KERNELS)
@some(AVERAGINGS)
def test_kernels_are_those_of_support_vector_machines(averaging, name):
    X, y = clouds(n_classes=3)
    named, kernel = KERNELS[name]
    params = {**averaging, "eta": 0.1, "theta_init": 1.1, "max_iter": 10, "random_state": 0}
    classifier = perceptron(**named, **params).fit(X, y)
    gram = perceptron(kernel="precomputed", **params).fit(kernel(X, X), y)
    assert classifier.n_updates_ == gram.n_updates_ > 0
    queries = np.random.default_rng(1).normal(size=(50, 4))
    assert_allclose(
        classifier.decision_function(queries),
        gram.decision_function(kernel(queries, X)),
        rtol=1e-8,
        atol=1e-8,
    )
    assert_array_equal(classifier.support_, gram.support_)


@some(AVERAGINGS)
def test_size_of_the_cache_changes_nothing(averaging):
    X, y = clouds(n_samples=500, distance=0.5)  # a Gram matrix of 2 MB
    params = {
        **averaging,
        "kernel": "rbf",
        "eta": 0.1,
        "theta_init": 1.1,
        "max_iter": 5,
        "random_state": 0,
    }
    small, large = (perceptron(cache_size=size, **params).fit(X, y) for size in (1, 200))
    assert_same_fit(small, large)
    assert_array_equal(small.decision_function(X), large.decision_function(X))


def test_precomputed_kernel_must_be_square():
    X, y = clouds()
    with pytest.raises(ValueError):
        perceptron(kernel="precomputed").fit(X, y)
    classifier = perceptron(kernel="precomputed", max_iter=5).fit(X @ X.T, y)
    with pytest.raises(ValueError):
        classifier.decision_function(X)


# ------------------------------------------------------------------------------------------ parameters

NOT_ALLOWED = [
    ("tau", -1.0),
    ("tau", math.nan),
    ("tau", math.inf),
    ("tau", "0.5"),
    ("lam", -0.5),
    ("lam", math.nan),
    ("alpha_bound", 0),
    ("alpha_bound", -1),
    ("alpha_bound", math.nan),
    ("eta", 0.0),
    ("eta", -1.0),
    ("eta", math.inf),
    ("eta", None),
    ("theta_init", math.nan),
    ("theta_init", math.inf),
    ("theta_init", "mean"),
    ("intercept_scaling", -1.0),
    ("intercept_scaling", math.nan),
    ("intercept_scaling", "mean"),
    ("averaging", "first"),
    ("averaging", None),
    ("weighting", "mistakes"),
    ("validation_fraction", 0.0),
    ("validation_fraction", 1.0),
    ("validation_fraction", -0.1),
    ("shuffle", "always"),
    ("shuffle", True),
    ("max_iter", 0),
    ("max_iter", 1.5),
    ("kernel", "cosine"),
    ("kernel", None),
    ("degree", -1),
    ("gamma", -0.5),
    ("gamma", "best"),
    ("coef0", math.nan),
    ("cache_size", 0),
    ("fit_intercept", "yes"),
]


@pytest.mark.parametrize(("name", "value"), NOT_ALLOWED)
def test_a_parameter_not_allowed_is_named(name, value):
    X, y = clouds()
    classifier = perceptron(**{name: value})
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        classifier.fit(X, y)
    assert not state(classifier)


@pytest.mark.parametrize(
    ("name", "value"), [("tau_positive", -1.0), ("tau_negative", math.nan), ("tau_negative", None)]
)
def test_an_uneven_margin_not_allowed_is_named(name, value):
    X, y = clouds()
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        margins.get("paum")(**{name: value}).fit(X, y)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_margin_in_units_of_a_zero_theta_init_is_rejected(fit_intercept):
    X, y = clouds()
    classifier = perceptron(tau=0.5, theta_init=0.0, fit_intercept=fit_intercept)
    both = r"(?s)(?=.*\btau\b)(?=.*\btheta_init\b)"
    with pytest.raises(ValueError, match=both):
        classifier.fit(X, y)
    with pytest.raises(ValueError, match=both):
        classifier.partial_fit(X, y, classes=[0, 1])
