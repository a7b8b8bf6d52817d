"""Every registered algorithm is a scikit-learn classifier, with what the package adds to one."""

import dataclasses
import math
import pickle
import warnings

import joblib
import numpy as np
import oracles
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import margins
from margins.estimators.budget import BudgetClassifier
from margins.estimators.maximum_margin import MaximumMarginClassifier
from margins.estimators.noise_tolerance import AveragingClassifier
from margins.estimators.step import StepClassifier

ALGORITHMS = {name: margins.get(name) for name in margins.available()}
NAMES = list(ALGORITHMS)
PROVING = [name for name in NAMES if issubclass(ALGORITHMS[name], MaximumMarginClassifier)]
NOISE_TOLERANT = [name for name in NAMES if issubclass(ALGORITHMS[name], AveragingClassifier)]
STEPS = [name for name in NAMES if issubclass(ALGORITHMS[name], StepClassifier)]
ENDLESS = [*STEPS, "pegasos"]  # no end of their own that anybody expects
ONLINE = [name for name in NAMES if hasattr(ALGORITHMS[name](), "partial_fit")]
VOTING = ["voted-perceptron"]  # the model is a list of mistakes: no coef_, no intercept_
BUDGET = [name for name in NAMES if issubclass(ALGORITHMS[name], BudgetClassifier)]
WHITENING = "second-order-perceptron"  # predicts with a matrix times the sum of the samples
LINEAR = ["alma", WHITENING]  # no other kernel, and sums are rounded
AVERAGE = "servedio-average"  # asks neither how it predicts nor for an order

# What these problems are about is not how long a fit takes or whether it proves its accuracy.
quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def make(name, **params):
    """The algorithm, told a margin to demand if it cannot do without."""
    algorithm = ALGORITHMS[name]
    if name == "pfm" and math.isinf(params.get("C", 1)):
        params.setdefault("gamma", 0.1)
    return algorithm(**params)


def by_rules(name):
    """The parameters that leave an estimator to rules alone."""
    return {"solver": "unlearning"} if name == "auto" else {}


def names_of_parameters(algorithm):
    return [field.name for field in dataclasses.fields(algorithm)]


def clouds(n_classes=2, n_samples=60, n_features=4, distance=1.5, seed=0):
    """Overlapping normal clouds: X and y, the codes 0 .. n_classes - 1."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_samples) % n_classes
    centres = distance * rng.normal(size=(n_classes, n_features))
    return centres[y] + rng.normal(size=(n_samples, n_features)), y


def state(classifier):
    """All that a fit has found."""
    names = {*vars(classifier), *dir(type(classifier))}
    found = sorted(name for name in names if name.endswith("_") and not name.startswith("_"))
    return {name: getattr(classifier, name) for name in found if hasattr(classifier, name)}


def assert_same_fit(one, other):
    """Bit for bit."""
    assert state(one).keys() == state(other).keys()
    for key, value in state(one).items():
        assert_same(value, state(other)[key], key)


def assert_same(one, other, key):
    if isinstance(one, list):
        assert len(one) == len(other), key
        for left, right in zip(one, other, strict=True):
            assert_same(left, right, key)
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype, key
        assert_array_equal(one, other, err_msg=key)
    else:
        assert one == other, key


# ------------------------------------------------------------------------------ scikit-learn's checks

EQUIVALENCE = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
WITHOUT_ACCURACY = (
    "Ends with the first full epoch that changes nothing, or after a given number of them, with weights "
    "that depend on the order of access; m weighted and more repeated samples are not presented "
    "in one order."
)
ONCE_EACH = "With C = inf a weight says no more than whether a sample is there; each is added once."
TO_ACCURACY = (
    "Objectives agree to eps, so coefficients to about sqrt(2 eps). The check wants 1e-7 of them, that "
    "is eps below 1e-14, less than the rounding of the squared hinge's certificate. With eps=1e-15 mpu, "
    "the fastest, gets to 6e-7. For the hinge loss, which is not flat at its optimum, it passes."
)
NO_PENALTY = "With C = inf there is no penalty that a weight could multiply."
NO_PROMISE = (
    "The check wants 87 % of the test set in the class of weight 1000. A perceptron stops at any weight "
    "vector that makes no mistake on the training set: over 20 seeds, from 84 % to 100 %."
)

NO_KERNEL = "The matrix of this check has K(x, x) < 0: it belongs to no kernel, and is refused."
NO_SAMPLES = "A stream keeps no samples to evaluate a kernel on: partial_fit refuses all but the linear."
BY_PARTIAL_FIT = (
    "check_fit_score_takes_y",
    "check_n_features_in_after_fitting",
    "check_estimators_partial_fit_n_features",
)


def expected_failed_checks(classifier):
    if classifier.loss == "hinge" and isinstance(classifier, MaximumMarginClassifier):
        return {}
    reason = TO_ACCURACY if isinstance(classifier, MaximumMarginClassifier) else WITHOUT_ACCURACY
    if isinstance(classifier, ALGORITHMS[AVERAGE]):
        reason = ONCE_EACH
    expected = dict.fromkeys(EQUIVALENCE, reason)
    if math.isinf(classifier.C):
        expected["check_class_weight_classifiers"] = NO_PENALTY
    elif isinstance(classifier, ALGORITHMS["perceptron"]):
        expected["check_class_weight_classifiers"] = NO_PROMISE
    if classifier.kernel == "precomputed":
        expected["check_positive_only_tag_during_fit"] = NO_KERNEL
    if classifier.kernel != "linear" and hasattr(classifier, "partial_fit"):
        expected |= dict.fromkeys(BY_PARTIAL_FIT, NO_SAMPLES)
    return expected


# At 1 % these two take many seconds for some of scikit-learn's problems of random labels.
SLOW = {"micra": {"eps": 0.1}, "cramma": {"eps": 0.1}}


@quiet
@parametrize_with_checks(
    [make(name, **SLOW.get(name, {})) for name in NAMES]
    + [
        make("perceptron", C=1.0),
        make("mpu", loss="hinge", eps=1e-13),
        make("pdm", stop="clean-pass", eps=0.1),
        make("mpu", kernel="rbf", eps=0.1),
        make("pdm", kernel="precomputed", eps=0.1),
        make("voted-perceptron", kernel="poly"),
        make("averaged-perceptron", kernel="precomputed"),
    ],
    expected_failed_checks=expected_failed_checks,
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


# ------------------------------------------------------------------------------------ copies, parameters


@quiet
@pytest.mark.parametrize("name", NAMES)
def test_pickled_classifier_is_the_same_classifier(name):
    X, y = clouds(n_classes=3)
    classifier = make(name, random_state=0).fit(X, y)
    copy = pickle.loads(pickle.dumps(classifier))
    assert copy.get_params() == classifier.get_params()
    assert_same_fit(copy, classifier)
    assert_array_equal(copy.predict(X), classifier.predict(X))
    assert_array_equal(copy.decision_function(X), classifier.decision_function(X))


@quiet
@pytest.mark.parametrize("name", NAMES)
def test_clone_is_untrained_and_trains_to_the_same_classifier(name):
    X, y = clouds()
    classifier = make(name, C=3.0, random_state=5).fit(X, y)
    copy = clone(classifier)
    assert not state(copy)
    assert copy.get_params() == classifier.get_params()
    assert_same_fit(copy.fit(X, y), classifier)
    assert_array_equal(copy.predict(X), classifier.predict(X))


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_kept_as_given(name):
    given = {key: object() for key in names_of_parameters(ALGORITHMS[name])}
    classifier = ALGORITHMS[name](**given)
    assert classifier.get_params(deep=False) == given
    other = ALGORITHMS[name]()
    assert other.set_params(**given) is other
    assert other.get_params(deep=False) == given
    for key, value in given.items():
        assert getattr(classifier, key) is value


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_documented_keywords_with_their_declared_defaults(name):
    algorithm = ALGORITHMS[name]
    defaults = {field.name: field.default for field in dataclasses.fields(algorithm)}
    assert algorithm().get_params(deep=False) == defaults
    for key, default in defaults.items():
        assert f"\n{key} : " in algorithm.__doc__
        assert f"default={default!r}" in algorithm.__doc__
    with pytest.raises(TypeError):
        algorithm(1.0)
    with pytest.raises(TypeError):
        algorithm(gama=1.0)


@quiet
@pytest.mark.parametrize("name", NAMES)
def test_fit_returns_self_and_leaves_the_parameters_alone(name):
    X, y = clouds()
    classifier = make(name, random_state=0, class_weight={1: 2.0})
    before = dict(vars(classifier))
    assert classifier.fit(X, y) is classifier
    public = {key: value for key, value in vars(classifier).items() if not key.startswith("_")}
    assert {key: value for key, value in public.items() if not key.endswith("_")} == before


@quiet
@pytest.mark.parametrize("name", NAMES)
def test_second_fit_forgets_the_first(name):
    X, y = clouds(n_classes=3, distance=6)
    again = make(name, C=1.0, random_state=0, max_iter=50).fit(X, y)
    hard = {"C": math.inf, **({"gamma": 0.1} if name == "pfm" else {})}
    binary = y < 2
    again.set_params(**hard).fit(X[binary, :3], y[binary])
    fresh = make(name, random_state=0, max_iter=50, **hard).fit(X[binary, :3], y[binary])
    assert_same_fit(again, fresh)


# ---------------------------------------------------------------------------------- order and chance


@quiet
@pytest.mark.parametrize("name", NAMES)
def test_number_of_jobs_changes_not_one_bit(name):
    X, y = clouds(n_classes=4, n_samples=120)
    alone = make(name, n_jobs=1, random_state=3, max_iter=30).fit(X, y)
    assert alone.decision_function(X).shape == (120, 4)
    for n_jobs in (2, -1, None):
        together = make(name, n_jobs=n_jobs, random_state=3, max_iter=30).fit(X, y)
        assert_same_fit(together, alone)


@quiet
def test_fit_ignores_a_process_backend_that_surrounds_it():
    X, y = clouds(n_classes=4)
    alone = make("pdm", random_state=3).fit(X, y)
    with joblib.parallel_config("loky", n_jobs=2):
        together = make("pdm", random_state=3).fit(X, y)
    assert_same_fit(together, alone)


@quiet
@pytest.mark.parametrize("name", NAMES)
def test_random_state_decides_the_result(name):
    X, y = clouds(n_classes=3)
    params = {"max_iter": 30, **by_rules(name)}
    one = make(name, random_state=7, **params).fit(X, y)
    assert_same_fit(make(name, random_state=7, **params).fit(X, y), one)
    generator = np.random.RandomState(7)
    assert_same_fit(make(name, random_state=generator, **params).fit(X, y), one)
    # A generator goes on; and each seed gives an order of its own.
    for random_state in (generator, 8):
        other = make(name, random_state=random_state, **params).fit(X, y)
        if name == AVERAGE:  # a sum has no order but that of its roundings
            assert_allclose(other.coef_, one.coef_, rtol=1e-12)
        else:
            assert not np.array_equal(other.decision_function(X), one.decision_function(X))


def test_newton_steps_over_so_few_samples_have_no_order():
    name = "auto"
    X, y = clouds(n_classes=3)
    one, other = (make(name, random_state=seed).fit(X, y) for seed in (7, 8))
    assert_same_fit(other, one)


@quiet
@pytest.mark.parametrize("name", NAMES)
def test_global_random_state_is_left_alone_by_a_seeded_fit(name):
    X, y = clouds()
    np.random.seed(0)  # noqa: NPY002
    expected = np.random.random()  # noqa: NPY002
    np.random.seed(0)  # noqa: NPY002
    make(name, random_state=1).fit(X, y)
    assert np.random.random() == expected  # noqa: NPY002


# -------------------------------------------------------------------------------------- labels, shapes

LABELS = {
    "str": np.array(["ham", "spam", "zebra"]),
    "object": np.array(["ham", "spam", "zebra"], dtype=object),
    "negative int": np.array([-7, -2, 0]),
    "int8": np.array([-128, 3, 127], dtype=np.int8),
    "uint64": np.array([0, 3, 2**63], dtype=np.uint64),
    "float": np.array([-1.0, 0.0, 4.0]),
    "bool": np.array([False, True]),
    "list": ["ham", "spam", "zebra"],
}


@quiet
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS.keys())
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", NAMES)
def test_labels_may_be_of_any_type(name, n_classes, labels):
    if len(labels) < n_classes:
        pytest.skip("There are only two booleans.")
    X, codes = clouds(n_classes=n_classes)
    plain = make(name, random_state=0, max_iter=20).fit(X, codes)
    y = [labels[code] for code in codes] if isinstance(labels, list) else labels[codes]
    classifier = make(name, random_state=0, max_iter=20).fit(X, y)
    assert_array_equal(classifier.classes_, labels[:n_classes])
    assert_array_equal(classifier.decision_function(X), plain.decision_function(X))
    prediction = classifier.predict(X)
    assert prediction.dtype == np.asarray(y).dtype
    assert_array_equal(prediction, np.asarray(labels)[plain.predict(X)])


@quiet
@pytest.mark.parametrize("name", NAMES)
def test_second_class_of_two_has_the_positive_scores(name):
    X, y = clouds(distance=4)
    X -= X.mean(axis=0)  # for the one that has no bias
    classifier = make(name, random_state=0).fit(X, y)
    scores = classifier.decision_function(X)
    assert scores.shape == (60,)
    if name in VOTING:
        assert not hasattr(classifier, "coef_") and not hasattr(classifier, "intercept_")
        assert_array_equal(scores, np.rint(scores))
    else:
        assert classifier.coef_.shape == (1, 4)
        assert classifier.intercept_.shape == (1,)
        assert_allclose(scores, X @ classifier.coef_[0] + classifier.intercept_[0], rtol=1e-12)
    assert_array_equal(classifier.predict(X), scores > 0)
    assert classifier.score(X, y) > 0.9


@quiet
@pytest.mark.parametrize("name", NAMES)
def test_largest_score_of_many_classes_wins(name):
    X, y = clouds(n_classes=5, distance=4, n_samples=100)
    X -= X.mean(axis=0)
    classifier = make(name, random_state=0).fit(X, y)
    scores = classifier.decision_function(X)
    assert scores.shape == (100, 5)
    if name in VOTING:
        assert_array_equal(scores, np.rint(scores))
    else:
        assert classifier.coef_.shape == (5, 4)
        assert classifier.intercept_.shape == (5,)
        assert_allclose(scores, X @ classifier.coef_.T + classifier.intercept_, rtol=1e-12)
    assert_array_equal(classifier.predict(X), scores.argmax(axis=1))
    assert classifier.score(X, y) > 0.7


@quiet
@pytest.mark.parametrize("name", NAMES)
def test_without_intercept_the_bias_is_zero(name):
    X, y = clouds()
    classifier = make(name, fit_intercept=False, random_state=0).fit(X, y)
    assert_array_equal(classifier.decision_function(np.zeros((1, 4))), [0.0])
    if name not in VOTING:
        assert_array_equal(classifier.intercept_, [0.0])


@quiet
@pytest.mark.parametrize("name", NAMES)
def test_each_row_of_many_classes_is_a_binary_problem(name):
    X, y = clouds(n_classes=3)
    classifier = make(name, random_state=0).fit(X, y)
    seeds = np.random.RandomState(0).randint(np.iinfo(np.int32).max, size=3)
    if name in NOISE_TOLERANT:  # all classes take one way through the data
        seeds[:] = seeds[0]
    for code, seed in enumerate(seeds):

        class Seed(np.random.RandomState):
            def randint(self, *args, seed=seed, **kwargs):
                return np.array([seed])

        alone = make(name, random_state=Seed()).fit(X, y == code)
        if name in VOTING:
            assert_array_equal(alone.votes_[0], classifier.votes_[code])
            mistaken = alone.support_[alone.mistakes_[0]]
            assert_array_equal(mistaken, classifier.support_[classifier.mistakes_[code]])
        else:
            assert_array_equal(alone.coef_[0], classifier.coef_[code])
            assert alone.intercept_[0] == classifier.intercept_[code]
        assert alone.certificates_[0] == classifier.certificates_[code]
        assert alone.learning_curve_[0] == classifier.learning_curve_[code]


@quiet
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", NAMES)
def test_fitted_attributes_have_their_types_and_ranges(name, n_classes):
    X, y = clouds(n_classes=n_classes)
    classifier = make(name, random_state=0).fit(X, y)
    rows = 1 if n_classes == 2 else n_classes
    if name in VOTING:
        for votes, mistakes in zip(classifier.votes_, classifier.mistakes_, strict=True):
            assert votes.dtype == np.int64 and mistakes.dtype == np.int32
            assert votes.shape == (len(mistakes) + 1,) and (votes >= 0).all()
        assert len(classifier.votes_) == rows
        assert_array_equal(classifier.support_vectors_, X[classifier.support_])
    else:
        assert classifier.coef_.shape == (rows, 4) and classifier.intercept_.shape == (rows,)
        assert classifier.coef_.dtype == classifier.intercept_.dtype == np.float64
        assert np.isfinite(classifier.coef_).all() and np.isfinite(classifier.intercept_).all()
    assert type(classifier.n_iter_) is int and 1 <= classifier.n_iter_ <= classifier.max_iter
    assert type(classifier.n_updates_) is int and classifier.n_updates_ >= 1
    assert type(classifier.n_accesses_) is int and classifier.n_accesses_ >= len(X)
    assert type(classifier.converged_) is bool
    assert classifier.n_features_in_ == 4
    assert len(classifier.certificates_) == len(classifier.learning_curve_) == rows
    assert max(len(curve) for curve in classifier.learning_curve_) == classifier.n_iter_
    for curve, certificate in zip(classifier.learning_curve_, classifier.certificates_, strict=True):
        assert [epoch.epoch for epoch in curve] == list(range(1, len(curve) + 1))
        assert curve[-1].updates == certificate.n_updates
        assert all(type(number) is int for epoch in curve for number in epoch[:3])
    assert (
        sum(certificate.n_updates for certificate in classifier.certificates_) == classifier.n_updates_
    )
    for certificate in classifier.certificates_:
        for field in ("margin", "upper_bound", "fraction", "primal", "dual", "gap"):
            assert type(getattr(certificate, field)) is float, field
        assert type(certificate.n_updates) is int
        assert 0 <= certificate.fraction <= 1
        assert certificate.margin <= certificate.upper_bound
        assert certificate.gap >= 0
        assert certificate.dual <= certificate.primal


# -------------------------------------------------------------------------------------- dual variables


WITH_DUAL_VARIABLES = [
    (name, {"C": C}) for name in NAMES if name not in (*VOTING, WHITENING) for C in (0.1, 10.0)
]
WITH_DUAL_VARIABLES += [("mpu", {"C": math.inf, "max_iter": 20})]
WITH_DUAL_VARIABLES += [(name, {"C": math.inf}) for name in ("alpha-bound", "lambda-trick")]
WITH_DUAL_VARIABLES += [("mpu", {"C": C, "loss": "hinge"}) for C in (0.1, 10.0)]
# Newton steps leave a primal and a dual solution, which are one at the optimum only: test_newton.py.
WITH_DUAL_VARIABLES = [(name, {**params, **by_rules(name)}) for name, params in WITH_DUAL_VARIABLES]


@quiet
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("name", "params"), WITH_DUAL_VARIABLES)
def test_coefficients_are_the_sum_of_the_samples_times_their_dual_variables(
    name, params, n_classes, weighted
):
    X, y = clouds(n_classes=n_classes)
    weight = np.random.default_rng(1).integers(0, 4, len(y)) * 0.7 if weighted else np.ones(len(y))
    classifier = make(name, random_state=0, intercept_scaling=2.0, **params).fit(X, y, weight)
    dual = classifier.dual_coef_
    assert dual.shape == (len(classifier.coef_), len(y))
    assert (dual >= 0).all() and dual.any(axis=1).all()
    assert not dual[:, weight == 0].any()
    if params.get("loss") == "hinge":
        # alpha * min(C / alpha) may round up.
        assert (dual <= params["C"] * weight * (1 + 4e-16)).all()
    rho = 2.0 * classifier.fit_intercept
    theta_init = getattr(classifier, "theta_init_", 0.0)  # where the bias starts
    for row, alpha in enumerate(dual):
        labels = np.where(y == (1 if n_classes == 2 else row), 1, -1)
        combination = np.append(alpha * labels @ X, rho * np.sum(alpha * labels))
        weights = np.append(classifier.coef_[row], (classifier.intercept_[row] + theta_init) / 2.0)
        scale = weights @ combination / (combination @ combination)
        assert scale > 0
        assert_allclose(weights, scale * combination, atol=1e-9 * np.linalg.norm(weights), rtol=0)


# ---------------------------------------------------------------------------------------------- verbose


@quiet
@pytest.mark.parametrize("name", NAMES)
def test_verbose_fit_prints_a_line_for_every_epoch(name, capsys):
    X, y = clouds()
    for verbose in (0, False):
        make(name, random_state=0, verbose=verbose).fit(X, y)
        assert capsys.readouterr() == ("", "")
    for verbose in (1, True, 3):
        classifier = make(name, random_state=0, verbose=verbose).fit(X, y)
        out, err = capsys.readouterr()
        assert err == ""
        lines = out.splitlines()
        assert len(lines) == classifier.n_iter_
        for number, line in enumerate(lines, start=1):
            assert line.startswith(f"{name}: epoch {number} (")
        assert str(classifier.n_updates_) in lines[-1]


# ---------------------------------------------------------------------------------------------- weights


def unscaled(name):
    """Is `coef_` what has been added up, and not the best multiple of it?"""
    return name in NOISE_TOLERANT or name in STEPS or name in BUDGET or name == AVERAGE


def objective(classifier, X, y, C, loss="squared_hinge"):
    """What the coefficients as returned cost on a binary problem, from its definition."""
    w, b = classifier.coef_[0], classifier.intercept_[0]
    slack = np.maximum(1 - np.where(y == classifier.classes_[1], 1, -1) * (X @ w + b), 0)
    bias_weight = b / classifier.intercept_scaling
    return 0.5 * (w @ w + bias_weight**2) + np.sum(C * (slack if loss == "hinge" else slack**2))


def assert_primal(name, classifier, X, y, C, loss):
    """The primal objective stated is that of the coefficients, or of a multiple of them."""
    primal = classifier.certificates_[0].primal
    if unscaled(name):
        products = np.where(y == classifier.classes_[1], 1, -1) * classifier.decision_function(X)
        bias_weight = classifier.intercept_[0] / classifier.intercept_scaling
        sqnorm = np.sum(classifier.coef_**2) + bias_weight**2
        best = oracles.best_multiple(products, sqnorm, C)
        assert best * (1 - 1e-9) <= primal <= best * (1 + 1e-6)
    else:
        assert_allclose(primal, objective(classifier, X, y, C, loss), rtol=1e-9)


def assert_same_problem(name, one, other, X, y, C, loss="squared_hinge"):
    """Two fits have solved the problem (X, y, C), each as well as it has proven."""
    if name not in VOTING:
        assert_primal(name, one, X, y, C, loss)
        assert_primal(name, other, X, y, C, loss)
    for left, right in ((one, other), (other, one)):
        # Weak duality: if both speak of one problem, no dual value exceeds a primal one.
        assert left.certificates_[0].dual <= right.certificates_[0].primal * (1 + 1e-9)
        if isinstance(left, MaximumMarginClassifier):
            assert left.converged_
            most = 1 + left.eps if loss == "hinge" else (1 - left.eps) ** -2
            assert objective(left, X, y, C, loss) <= objective(right, X, y, C, loss) * most * (1 + 1e-9)


# By default the noise tolerant ones add a bias that depends on how many rows there are of which.
WEIGHTED = [
    pytest.param(name, {"intercept_scaling": 1.0} if name in NOISE_TOLERANT else {}, id=name)
    for name in NAMES
]
WEIGHTED.append(pytest.param("mpu", {"loss": "hinge"}, id="mpu-hinge"))


@quiet
@pytest.mark.parametrize(("name", "params"), WEIGHTED)
def test_sample_weight_is_that_many_rows(name, params):
    X, y = clouds(distance=0.5)
    repeats = np.random.default_rng(1).integers(0, 5, len(y))
    weighted = make(name, C=1.0, random_state=0, **params).fit(X, y, repeats)
    repeated = make(name, C=1.0, random_state=0, **params).fit(
        X.repeat(repeats, axis=0), y.repeat(repeats)
    )
    assert_same_problem(
        name, weighted, repeated, X, y, repeats, params.get("loss", ALGORITHMS[name].loss)
    )


@quiet
@pytest.mark.parametrize(("name", "params"), WEIGHTED)
def test_class_weight_is_that_many_rows(name, params):
    X, y = clouds(distance=0.5)
    repeats = np.where(y == 1, 3, 2)
    weighted = make(name, C=1.0, random_state=0, class_weight={0: 2, 1: 3}, **params).fit(X, y)
    repeated = make(name, C=1.0, random_state=0, **params).fit(
        X.repeat(repeats, axis=0), y.repeat(repeats)
    )
    assert_same_problem(
        name, weighted, repeated, X, y, repeats, params.get("loss", ALGORITHMS[name].loss)
    )


@quiet
@pytest.mark.parametrize(("name", "params"), WEIGHTED)
def test_weights_of_all_kinds_multiply_C(name, params):
    X, y = clouds()
    few = np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:10]]  # 30 and 10
    X, y = X[few], y[few]

    def fit(sample_weight=None, C=1.0, **more):
        return make(name, C=C, random_state=0, **params, **more).fit(X, y, sample_weight)

    by_class = np.where(y == 1, 2.0, 2 / 3)  # 40 / (2 * count)
    expected = fit(by_class)
    assert_same_fit(fit(class_weight="balanced"), expected)
    assert_same_fit(fit(class_weight={0: 2 / 3, 1: 2.0}), expected)
    assert_same_fit(fit(np.where(y == 1, 1.0, 2 / 3), class_weight={1: 2.0}), expected)
    if "loss" in params:  # mpu sets b for the hinge loss by C alone: one problem, but another way to it
        assert_same_problem(name, fit(np.full(len(y), 4.0)), fit(C=4.0), X, y, 4.0, **params)
    else:
        assert_same_fit(fit(np.full(len(y), 4.0)), fit(C=4.0))
    assert_same_fit(fit(np.ones(len(y))), fit())
    assert_same_fit(fit(by_class.tolist()), expected)
    assert fit().certificates_ != expected.certificates_


@quiet
@pytest.mark.parametrize("name", NAMES)
def test_class_weight_names_the_classes_by_their_labels(name):
    X, codes = clouds(n_classes=3)
    expected = make(name, C=1.0, random_state=0, class_weight={2: 5.0}).fit(X, codes)
    for labels in (np.array(["a", "b", "c"]), np.array([-3.0, 0.0, 2.0]), np.array(["1", "2", "3"])):
        named = make(name, C=1.0, random_state=0, class_weight={labels[2].item(): 5.0})
        named.fit(X, labels[codes])
        assert_array_equal(named.decision_function(X), expected.decision_function(X))
        assert named.certificates_ == expected.certificates_


@quiet
@pytest.mark.parametrize("class_weight", [None, "balanced", {1: 3.0}], ids=["no", "balanced", "dict"])
@pytest.mark.parametrize("C", [1.0, math.inf])
@pytest.mark.parametrize("name", NAMES)
def test_row_of_weight_zero_is_a_row_left_out(name, C, class_weight):
    # Bit for bit: seeds are drawn for the classes, which stay, and orders permute the rows kept.
    X, y = clouds(n_classes=3, distance=6)
    weight = np.random.default_rng(2).choice([0.0, 0.5, 1.0], len(y))
    weight[:9] = 0
    kept = weight > 0
    params = {"C": C, "class_weight": class_weight, "random_state": 0, "max_iter": 50}
    zero = make(name, **params).fit(X, y, weight)
    left_out = make(name, **params).fit(X[kept], y[kept], weight[kept])
    assert_array_equal(zero.decision_function(X), left_out.decision_function(X))
    assert zero.certificates_ == left_out.certificates_
    if name in VOTING:
        assert_array_equal(zero.support_, np.flatnonzero(kept)[left_out.support_])
        assert_array_equal(zero.support_vectors_, X[zero.support_])
    else:
        assert_array_equal(zero.coef_, left_out.coef_)
        assert_array_equal(zero.intercept_, left_out.intercept_)
    if hasattr(left_out, "dual_coef_"):
        assert_array_equal(zero.dual_coef_[:, kept], left_out.dual_coef_)
        assert not zero.dual_coef_[:, ~kept].any()


@quiet
@pytest.mark.parametrize("name", PROVING)
def test_balanced_counts_samples_by_their_weight(name):
    X, y = clouds(distance=0.5)
    repeats = np.where(y == 1, 3, 1)
    params = {"C": 1.0, "class_weight": "balanced", "random_state": 0}
    weighted = make(name, **params).fit(X, y, repeats)
    repeated = make(name, **params).fit(X.repeat(repeats, axis=0), y.repeat(repeats))
    # 120 rows, 30 of class 0, 90 of class 1: 120 / 60 once and 120 / 180 three times.
    assert_same_problem(name, weighted, repeated, X, y, 2.0)


@quiet
@pytest.mark.parametrize("name", NAMES)
def test_weights_mean_nothing_to_the_hard_margin(name):
    X, y = clouds(distance=6)
    weight = np.random.default_rng(2).uniform(0.5, 2, len(y))
    plain = make(name, C=math.inf, random_state=0).fit(X, y)
    assert_same_fit(make(name, C=math.inf, random_state=0).fit(X, y, weight), plain)
    balanced = make(name, C=math.inf, random_state=0, class_weight={1: 9.0})
    assert_same_fit(balanced.fit(X, y), plain)


# ---------------------------------------------------------------------------------------- convergence


@pytest.mark.parametrize("name", NAMES)
def test_separable_clouds_are_separated_without_a_warning(name):
    X, y = clouds(distance=6)
    for C in (1.0, math.inf):
        classifier = make(name, C=C, random_state=0).fit(X, y)
        assert classifier.converged_ or name in ENDLESS
        if name != AVERAGE:  # which promises a good hyperplane, not one that makes no mistake
            assert classifier.score(X, y) == 1


@pytest.mark.parametrize("stop", ["certificate", "clean-pass"])
@pytest.mark.parametrize("name", PROVING)
def test_warning_names_the_class_without_a_proof(name, stop):
    X, y = clouds(n_classes=3)
    y = np.array(["ant", "bee", "cat"])[y]
    # One epoch of Newton steps is enough for data as small.
    params = {"C": 100.0, "eps": 1e-6, "max_iter": 1, "stop": stop, **by_rules(name)}
    classifier = make(name, random_state=0, **params)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        classifier.fit(X, y)
    assert not classifier.converged_
    assert [warning.category for warning in caught] == [ConvergenceWarning] * 3
    for warning, label in zip(caught, ("ant", "bee", "cat"), strict=True):
        assert str(warning.message).startswith(
            f"{name} ({type(classifier).__name__}) did not converge for class '{label}': max_iter=1 "
        )
        assert warning.filename == __file__  # of the caller of fit


@pytest.mark.parametrize("name", NAMES)
def test_only_who_is_asked_for_a_separating_hyperplane_warns_that_there_is_none(name):
    X, y = clouds(n_classes=3, distance=0.1)
    classifier = make(name, C=math.inf, max_iter=3, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        classifier.fit(X, y)
    silent = (unscaled(name) or name in ENDLESS) and name != "perceptron"
    assert [warning.category for warning in caught] == ([] if silent else [ConvergenceWarning] * 3)
    assert classifier.converged_ is (name == AVERAGE)
    assert all(certificate.primal == math.inf for certificate in classifier.certificates_)


# -------------------------------------------------------------------------------------------- streams


def chunks(X, y, n_chunks=3):
    for rows in np.array_split(np.arange(len(y)), n_chunks):
        yield X[rows], y[rows]


def stream(classifier, X, y, n_chunks=3):
    """The classifier after all chunks."""
    for part, labels in chunks(X, y, n_chunks):
        assert classifier.partial_fit(part, labels, classes=np.unique(y)) is classifier
    return classifier


def test_noise_tolerant_algorithms_learn_from_streams():
    assert {*NOISE_TOLERANT, AVERAGE} <= set(ONLINE)


@pytest.mark.parametrize("name", ONLINE)
def test_stream_begins_with_its_classes(name):
    X, y = clouds(n_classes=3)
    with pytest.raises(ValueError, match="classes must be passed on the first call to partial_fit"):
        make(name).partial_fit(X, y)
    classifier = make(name).partial_fit(X[:5], y[:5], classes=[0, 1, 2])
    assert classifier.partial_fit(X[5:], y[5:]) is classifier
    assert_array_equal(classifier.classes_, [0, 1, 2])
    with pytest.raises(ValueError, match="at least 2"):
        make(name).partial_fit(X[:1], y[:1], classes=[0])


@pytest.mark.parametrize("name", ONLINE)
def test_what_does_not_belong_to_a_stream_is_refused_and_leaves_it_as_it_was(name):
    X, y = clouds(n_classes=3)
    y = np.array(["ant", "bee", "cat"])[y]
    classifier = make(name, class_weight={"cat": 2.0}).partial_fit(X[:30], y[:30], classes=np.unique(y))
    untouched = pickle.loads(pickle.dumps(classifier))
    more, labels = X[30:], y[30:]
    unknown = labels.copy()
    unknown[7] = "dog"
    own_name = type(classifier).__name__
    sentence = f"y of {own_name}.partial_fit must hold classes of the stream, .* Got 'dog'"
    with pytest.raises(ValueError, match=sentence):
        classifier.partial_fit(more, unknown)
    with pytest.raises(ValueError, match="is not the same as on last call"):
        classifier.partial_fit(more, labels, classes=["ant", "bee"])
    with pytest.raises(ValueError, match="is not the same as on last call"):
        classifier.partial_fit(more, labels, classes=["ant", "bee", "dog"])
    with pytest.raises(ValueError, match="3 features, but .* 4 features"):
        classifier.partial_fit(more[:, :3], labels)
    with pytest.raises(ValueError, match="NaN"):
        classifier.partial_fit(np.where(more > 1, np.nan, more), labels)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        classifier.partial_fit(more, labels[1:])
    with pytest.raises(ValueError, match=f"sample_weight of {own_name}"):
        classifier.partial_fit(more, labels, sample_weight=np.full(len(labels), -1.0))
    row = more.copy()
    row[3] *= 1e200
    with pytest.raises(ValueError, match="Row 3 of X is too long"):
        classifier.partial_fit(row, labels)
    assert_same_fit(classifier, untouched)
    assert_same_fit(classifier.partial_fit(more, labels), untouched.partial_fit(more, labels))


@pytest.mark.parametrize("name", ONLINE)
def test_refused_first_chunk_begins_no_stream(name):
    X, y = clouds(n_classes=3)
    long = X.copy()
    long[3] *= 1e200
    classifier, classes = make(name), [0, 1, 2]
    for part, labels, weight in ((X, y + 1, None), (X[:, :3], y, np.full(60, -1.0)), (long, y, None)):
        with pytest.raises(ValueError):
            classifier.partial_fit(part, labels, classes, weight)
    fresh = make(name).partial_fit(X, y, classes)
    assert_same_fit(classifier.partial_fit(X, y, classes), fresh)


@pytest.mark.parametrize("name", ONLINE)
def test_what_no_stream_can_do_is_refused(name):
    X, y = clouds()
    given = {"class_weight": "balanced"}
    if name not in LINEAR:
        given["kernel"] = "rbf"
    if name in NOISE_TOLERANT:
        given["averaging"] = "tail"
    for key, value in given.items():
        classifier = make(name, **{key: value})
        sentence = f"{key} of {type(classifier).__name__}.partial_fit must .*Got '{value}'"
        with pytest.raises(ValueError, match=sentence):
            classifier.partial_fit(X, y, classes=[0, 1])
        assert not state(classifier)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", ONLINE)
def test_pickled_stream_goes_on_like_the_stream(name, n_classes):
    X, y = clouds(n_classes=n_classes, n_samples=90, distance=0.5)
    classifier = make(name)
    copies = []
    for part, labels in chunks(X, y):
        classifier.partial_fit(part, labels, classes=np.unique(y))
        copies = [copy.partial_fit(part, labels) for copy in copies]
        for copy in copies:
            assert_same_fit(copy, classifier)
            assert_array_equal(copy.decision_function(X), classifier.decision_function(X))
        copies.append(pickle.loads(pickle.dumps(classifier)))
    assert classifier.n_updates_ > 10


@quiet
@pytest.mark.parametrize("name", ONLINE)
def test_fit_forgets_the_stream_and_a_stream_goes_on_from_the_fit(name):
    X, y = clouds(n_classes=3)
    Z, z = clouds(n_features=3, seed=1)
    z = np.array(["ham", "spam"])[z]
    fresh = make(name, random_state=0).fit(Z, z)
    again = stream(make(name, random_state=0), X, y).fit(Z, z)
    assert_same_fit(again, fresh)
    assert_array_equal(again.decision_function(Z), fresh.decision_function(Z))
    # What comes now is of the classes and features of the fit, and goes on from it.
    with pytest.raises(ValueError, match="features"):
        again.partial_fit(X, np.array(["ham", "spam"])[y % 2])
    assert_same_fit(again, fresh)
    for part, labels in chunks(Z, z):
        again.partial_fit(part, labels)
        fresh.partial_fit(part, labels)
    assert_same_fit(again, fresh)
    assert_same_fit(stream(clone(again), X, y), stream(make(name), X, y))


@quiet
@pytest.mark.parametrize("name", ONLINE)
def test_stream_after_a_fit_has_its_classes_if_none_are_given(name):
    X, y = clouds(n_classes=3)
    classifier = make(name, random_state=0).fit(X, y)
    given = make(name, random_state=0).fit(X, y).partial_fit(X, y, classes=[0, 1, 2])
    assert_same_fit(classifier.partial_fit(X, y), given)
    assert_array_equal(classifier.classes_, [0, 1, 2])


@pytest.mark.parametrize("name", ONLINE)
def test_clone_of_a_stream_is_untrained(name):
    X, y = clouds()
    copy = clone(stream(make(name), X, y))
    assert not state(copy)
    with pytest.raises(ValueError, match="classes"):
        copy.partial_fit(X, y)


@pytest.mark.parametrize("name", ONLINE)
def test_chunks_may_lack_classes_and_differ_in_layout(name):
    X, y = clouds(n_classes=3, distance=0.5)
    X = np.round(4 * X)  # small integers, so that the layout changes not one bit
    order = np.argsort(y, kind="stable")  # chunks of one class each
    X, y = X[order], y[order]
    plain = stream(make(name), X, y)
    mixed = make(name)
    layouts = (sparse.csr_array, np.float32, np.asfortranarray)
    for layout, (part, labels) in zip(layouts, chunks(X, y), strict=True):
        given = part.astype(layout) if layout is np.float32 else layout(part)
        mixed.partial_fit(given, labels, classes=[0, 1, 2])
    if name in VOTING:
        assert_array_equal(mixed.support_vectors_.toarray(), plain.support_vectors_)
    if name in [*LINEAR, "aggressive-romma"]:  # whose sums are rounded
        assert_allclose(mixed.decision_function(X), plain.decision_function(X), rtol=1e-9, atol=1e-9)
    else:
        assert_array_equal(mixed.decision_function(X), plain.decision_function(X))
        assert mixed.upper_bounds_ == plain.upper_bounds_
    assert mixed.learning_curve_ == plain.learning_curve_


@pytest.mark.parametrize("name", ONLINE)
def test_row_of_weight_zero_is_left_out_of_a_stream(name):
    X, y = clouds(n_classes=3, distance=0.5)
    weight = np.where(np.arange(len(y)) % 4 == 1, 0.0, 2.0)
    kept = weight > 0
    zero, left_out = make(name), make(name)
    for rows in np.array_split(np.arange(len(y)), 3):
        zero.partial_fit(X[rows], y[rows], classes=[0, 1, 2], sample_weight=weight[rows])
        rows = rows[kept[rows]]
        left_out.partial_fit(X[rows], y[rows], classes=[0, 1, 2], sample_weight=weight[rows])
    assert_array_equal(zero.decision_function(X), left_out.decision_function(X))
    assert zero.upper_bounds_ == left_out.upper_bounds_
    if name in VOTING:
        assert_array_equal(zero.support_vectors_, X[zero.support_])


@pytest.mark.parametrize("name", ONLINE)
def test_chunk_of_no_weight_is_refused_by_a_sentence_and_leaves_the_stream_as_it_was(name):
    X, y = clouds(n_classes=3)
    classifier = make(name, class_weight={1: 0.0}).partial_fit(X, y, classes=[0, 1, 2])
    untouched = pickle.loads(pickle.dumps(classifier))
    with pytest.raises(ValueError, match="weight"):
        classifier.partial_fit(X, y, sample_weight=np.zeros(len(y)))
    with pytest.raises(ValueError, match="weight"):
        classifier.partial_fit(X[y == 1], y[y == 1])
    assert_same_fit(classifier, untouched)
    assert_same_fit(classifier.partial_fit(X, y), untouched.partial_fit(X, y))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", ONLINE)
def test_every_chunk_is_an_epoch_of_the_learning_curve(name, n_classes):
    X, y = clouds(n_classes=n_classes)
    classifier = stream(make(name), X, y, n_chunks=4)
    assert classifier.n_iter_ == 4
    assert not classifier.converged_
    assert classifier.n_updates_ == sum(curve[-1].updates for curve in classifier.learning_curve_)
    for curve in classifier.learning_curve_:
        assert [epoch.epoch for epoch in curve] == [1, 2, 3, 4]
        if name in NOISE_TOLERANT or name == AVERAGE:
            updates = np.cumsum([epoch.mistakes for epoch in curve])
            assert [epoch.updates for epoch in curve] == updates.tolist()


# --------------------------------------------------------------------------------------------- pandas


@quiet
@pytest.mark.parametrize("name", NAMES)
def test_data_frame_gives_the_features_their_names(name):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed; nothing here needs it")
    X, y = clouds()
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    classifier = make(name, random_state=0).fit(frame, pandas.Series(y))
    assert_array_equal(classifier.feature_names_in_, ["a", "b", "c", "d"])
    X = frame.to_numpy()  # in the frame's memory layout: another one is multiplied in another order
    plain = make(name, random_state=0).fit(X, y)
    assert not hasattr(plain, "feature_names_in_")
    assert_array_equal(classifier.decision_function(frame), plain.decision_function(X))
    assert_array_equal(classifier.predict(frame), plain.predict(X))
    with pytest.raises(ValueError, match="feature names should match"):
        classifier.predict(frame[["b", "a", "c", "d"]])
