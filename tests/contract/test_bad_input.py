"""Invalid input is rejected with a message, before any work; results for valid input are correct."""

import dataclasses
import fractions
import math
import re
import types
from collections import OrderedDict
from numbers import Integral, Real

import numpy as np
import oracles
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import NotFittedError

import margins
from margins.estimators.budget import BudgetClassifier
from margins.estimators.maximum_margin import MaximumMarginClassifier
from margins.estimators.noise_tolerance import AveragingClassifier
from margins.estimators.step import StepClassifier
from margins.parameters import AnyOf, InstanceOf, Interval, OneOf, SubclassOf

ALGORITHMS = {name: margins.get(name) for name in margins.available()}
NAMES = list(ALGORITHMS)
NOISE_TOLERANT = [name for name in NAMES if issubclass(ALGORITHMS[name], AveragingClassifier)]
# Their coef_ is what has been added up, and not the best multiple of it.
STEPS = [name for name in NAMES if issubclass(ALGORITHMS[name], StepClassifier)]
UNSCALED = [*NOISE_TOLERANT, "servedio-average", *STEPS]
UNSCALED += [name for name in NAMES if issubclass(ALGORITHMS[name], BudgetClassifier)]
ENDLESS = [*STEPS, "pegasos"]  # no convergence is expected of them
# The others require a separating hyperplane, and so does the classical perceptron.
SEPARATING = [name for name in NAMES if name not in UNSCALED or name == "perceptron"]
VOTING = ["voted-perceptron"]  # no coef_, no intercept_
LINEAR = ["alma", "second-order-perceptron"]  # no other kernel
OF_KERNELS = ("degree", "gamma", "coef0", "cache_size")
quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
each_algorithm = pytest.mark.parametrize("name", NAMES)


def make(name, **params):
    """The algorithm, with a margin if it requires one."""
    algorithm = ALGORITHMS[name]
    if name == "pfm" and math.isinf(params.get("C", 1)):
        params.setdefault("gamma", 0.1)
    return algorithm(random_state=params.pop("random_state", 0), **params)


def small(n_classes=2, n_features=3, distance=3.0):
    """A small separable problem without a zero row."""
    rng = np.random.default_rng(0)
    y = np.arange(24) % n_classes
    X = rng.normal(size=(24, n_features))
    X[np.arange(24), y % n_features] += distance
    return X, y


def own_name(name):
    return ALGORITHMS[name].__name__


def shown_name(name, method=None):
    return f"{name} ({own_name(name)}{'.' + method if method else ''})"


def declares(name, parameter):
    return parameter in {field.name for field in dataclasses.fields(ALGORITHMS[name])}


def assert_finite(classifier, X):
    """The model is made of numbers, and so are its scores."""
    assert np.isfinite(classifier.decision_function(X)).all()
    for key in ("coef_", "intercept_", "dual_coef_"):
        assert np.isfinite(getattr(classifier, key, 0.0)).all(), key


# ----------------------------------------------------------------------------------------- parameters


def allows(constraint, value):
    """What a constraint says, read again."""
    if isinstance(constraint, AnyOf):
        return any(allows(part, value) for part in constraint.constraints)
    if isinstance(constraint, InstanceOf):
        return isinstance(value, constraint.type)
    if isinstance(constraint, OneOf):
        return any(
            value is one or (isinstance(value, str) and value == one) for one in constraint.values
        )
    if isinstance(constraint, SubclassOf):
        return isinstance(value, type) and issubclass(value, constraint.base)
    assert isinstance(constraint, Interval)
    if isinstance(value, bool | np.bool_) or not isinstance(
        value, Integral if constraint.integer else Real
    ):
        return False
    value = value if constraint.integer else float(value)  # not to the precision of a float32
    if isinstance(value, np.floating):
        value = float(value)  # or the ends would be compared in its own precision
    if value == constraint.low:
        return constraint.closed in ("left", "both")
    if value == constraint.high:
        return constraint.closed in ("right", "both")
    return constraint.low < value < constraint.high


def parts_of(constraint):
    if isinstance(constraint, AnyOf):
        for part in constraint.constraints:
            yield from parts_of(part)
    else:
        yield constraint


def candidates(constraint):
    """Values of all kinds, most of all those beside the ends of intervals."""
    yield from (None, True, np.False_, 0, 1, -1, 2, 0.5, -0.5, 1.0, 1.5, math.inf, -math.inf, math.nan)
    yield from (np.int32(-3), np.float32(0.25), np.float64("nan"), fractions.Fraction(1, 2), 1j, 10**30)
    yield from ("", "hinge", "0.1", "None", b"hinge", [], [0.5], {}, {1: 2.0}, object, len, np.nan)
    yield from (np.array([0.5]), np.array(0.5), np.array(1), np.random.RandomState(0))
    yield np.random.default_rng(0)
    for part in parts_of(constraint):
        if isinstance(part, Interval):
            for end in (part.low, part.high):
                if math.isfinite(end):
                    yield from (end, int(end), float(end), end - 1, end + 1)
                    yield from (np.nextafter(end, -math.inf), np.nextafter(end, math.inf))
        if isinstance(part, OneOf):
            yield from part.values
            yield from (value.upper() for value in part.values if isinstance(value, str))


PARAMETERS = [
    pytest.param(name, field, id=f"{name}-{field.name}")
    for name in NAMES
    for field in dataclasses.fields(ALGORITHMS[name])
]


@pytest.mark.parametrize(("name", "field"), PARAMETERS)
def test_wrong_parameter_is_rejected_with_a_message_before_any_work(name, field):
    allowed = field.metadata["allowed"]
    wrong = [value for value in candidates(allowed) if not allows(allowed, value)]
    assert len(wrong) >= 10
    for value in wrong:
        classifier = ALGORITHMS[name](**{field.name: value})
        with pytest.raises(ValueError) as refusal:
            classifier.fit(None, None)
        expected = f"{field.name} of {shown_name(name)} must be {allowed}. Got {value!r}."
        assert str(refusal.value) == expected
        assert not [key for key in vars(classifier) if key.endswith("_")]


@pytest.mark.parametrize(("name", "field"), PARAMETERS)
def test_allowed_parameter_is_not_rejected(name, field):
    allowed = field.metadata["allowed"]
    right = [value for value in candidates(allowed) if allows(allowed, value)]
    assert len(right) >= 2 or name in LINEAR
    assert allows(allowed, field.default)
    for value in right:
        if field.name == "n_jobs" and value == 0:
            continue
        classifier = ALGORITHMS[name](**beside(field.name, name), **{field.name: value})
        with pytest.raises(ValueError) as refusal:  # of X, which is None
            classifier.fit(None, None)
        assert f"{field.name} of " not in str(refusal.value)


def beside(parameter, name):
    """What must be given for a parameter to mean something."""
    if parameter == "tau":
        return {"theta_init": 1.0}
    if parameter == "theta_init":
        return {"tau": 0.0}
    if parameter in OF_KERNELS and name not in ("pfm", *LINEAR):  # its gamma is a margin
        return {"kernel": "rbf" if parameter == "gamma" else "poly"}
    return {"averaging": "tail"} if parameter == "validation_fraction" else {}


@pytest.mark.parametrize(
    ("name", "params", "sentence"),
    [
        ("pdm", {"eps": 1.5}, "eps of pdm (DynamicMarginPerceptron) must be in (0, 1]. Got 1.5."),
        ("pdm", {"eps": 0}, "eps of pdm (DynamicMarginPerceptron) must be in (0, 1]. Got 0."),
        ("mpu", {"C": -1}, "C of mpu (UnlearningMarginPerceptron) must be in (0, inf]. Got -1."),
        ("mpu", {"C": 0.0}, "C of mpu (UnlearningMarginPerceptron) must be in (0, inf]. Got 0.0."),
        (
            "mpu",
            {"loss": "Hinge"},
            "loss of mpu (UnlearningMarginPerceptron) must be one of 'squared_hinge', 'hinge'. "
            "Got 'Hinge'.",
        ),
        (
            "perceptron",
            {"max_iter": 0},
            "max_iter of perceptron (Perceptron) must be an integer in [1, inf). Got 0.",
        ),
        (
            "perceptron",
            {"max_iter": 10.0},
            "max_iter of perceptron (Perceptron) must be an integer in [1, inf). Got 10.0.",
        ),
        (
            "mpcs",
            {"kappa": 1},
            "kappa of mpcs (ConstantShrinkingMarginPerceptron) must be in [0, 1). Got 1.",
        ),
        (
            "pdm",
            {"class_weight": "balance"},
            "class_weight of pdm (DynamicMarginPerceptron) must be one of None, 'balanced' or a "
            "mapping. Got 'balance'.",
        ),
        (
            "perceptron",
            {"fit_intercept": 1},
            "fit_intercept of perceptron (Perceptron) must be True or False. Got 1.",
        ),
    ],
)
def test_messages_are_those_expected(name, params, sentence):
    with pytest.raises(ValueError) as refusal:
        ALGORITHMS[name](**params).fit(None, None)
    assert str(refusal.value) == sentence


@each_algorithm
def test_zero_jobs_are_rejected_before_any_work(name):
    with pytest.raises(
        ValueError, match=rf"^n_jobs of {re.escape(shown_name(name))} must be .*\. Got 0\.$"
    ):
        make(name, n_jobs=0).fit(None, None)


@quiet
def test_parameters_may_be_numpy_scalars():
    # As they come out of an array of values to search through.
    X, y = small()
    for params in (
        {
            "C": np.float32(1),
            "max_iter": np.int64(50),
            "fit_intercept": np.True_,
            "eps": np.float64(0.1),
        },
        {"loss": np.str_("hinge"), "stop": np.str_("certificate"), "class_weight": np.str_("balanced")},
        {"random_state": np.int64(0), "n_jobs": np.int8(1), "verbose": np.int32(0)},
    ):
        plain = {key: getattr(value, "item", lambda v=value: v)() for key, value in params.items()}
        assert_array_equal(make("mpu", **params).fit(X, y).coef_, make("mpu", **plain).fit(X, y).coef_)


@pytest.mark.parametrize("C", [1.0, math.inf])
def test_fixed_margin_without_gamma_is_rejected_if_no_margin_is_ensured(C):
    X, y = small()
    classifier = ALGORITHMS["pfm"](C=C, random_state=0)
    if C == 1:
        assert classifier.fit(X, y).converged_
    else:
        with pytest.raises(
            ValueError, match=r"^gamma of pfm \(FixedMarginPerceptron\) must be .*C.*\. Got None\.$"
        ):
            classifier.fit(X, y)


# ----------------------------------------------------------------------------------------------- X, y


@each_algorithm
@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_are_rejected(name, number):
    X, y = small()
    X[3, 1] = number
    for given in (X, sparse.csr_array(X), X.astype(np.float32), np.asfortranarray(X), X.tolist()):
        with pytest.raises(ValueError, match="NaN|infinity"):
            make(name).fit(given, y)


@each_algorithm
def test_invalid_shapes_are_rejected(name):
    X, y = small()
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        make(name).fit(X[0], y)
    with pytest.raises(ValueError, match="dim 3|3 dim"):
        make(name).fit(X[None], y)
    with pytest.raises(ValueError, match="0 sample"):
        make(name).fit(X[:0], y[:0])
    with pytest.raises(ValueError, match="0 feature"):
        make(name).fit(X[:, :0], y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        make(name).fit(X, y[:-1])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        make(name).fit(sparse.csr_array(X), y[:-1])
    with pytest.raises(ValueError, match="y should be a 1d array"):
        make(name).fit(X, np.stack([y, y], axis=1))
    with pytest.raises(ValueError, match="requires y to be passed"):
        make(name).fit(X, None)


@each_algorithm
def test_kinds_of_numbers_that_are_not_real_are_rejected(name):
    X, y = small()
    with pytest.raises(ValueError, match="Complex data not supported"):
        make(name).fit(X + 0j, y)
    with pytest.raises(ValueError, match="could not convert string to float"):
        make(name).fit(np.full(X.shape, "a"), y)
    with pytest.raises((ValueError, TypeError)):
        make(name).fit(np.full(X.shape, None), y)


@each_algorithm
@pytest.mark.parametrize("label", [0, -1, 3.0, "spam", False])
def test_one_class_is_rejected_by_its_label(name, label):
    X, _ = small()
    with pytest.raises(ValueError) as refusal:
        make(name).fit(X, np.full(len(X), label))
    assert str(refusal.value) == (
        f"y of {shown_name(name, 'fit')} must hold at least 2 classes. Got 1 class: {label!r}."
    )


@each_algorithm
def test_invalid_targets_are_rejected(name):
    X, y = small()
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        make(name).fit(X, y + 0.5 * X[:, 0])
    with pytest.raises(ValueError, match="contains NaN"):
        make(name).fit(X, np.where(y == 0, np.nan, 1.0))
    with pytest.raises((ValueError, TypeError)):
        make(name).fit(X, np.array([None, "spam"], dtype=object)[y])


@quiet
@each_algorithm
@pytest.mark.parametrize("kind", ["csc", "coo", "lil", "bsr", "dok", "dia"])
@pytest.mark.parametrize("container", ["matrix", "array"])
def test_other_sparse_formats_are_converted(name, kind, container):
    X, y = small()
    X[np.abs(X) < 0.7] = 0
    expected = make(name).fit(sparse.csr_array(X), y)
    given = getattr(sparse, f"{kind}_{container}")(X)
    classifier = make(name).fit(given, y)
    scores = classifier.decision_function(sparse.csr_array(X))
    assert_array_equal(scores, expected.decision_function(sparse.csr_array(X)))
    if kind != "dia":  # which cannot be indexed, for all that check_array does with it
        assert_array_equal(classifier.predict(given), expected.predict(X))


@pytest.mark.parametrize("name", [name for name in NAMES if name not in UNSCALED])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_zero_row_is_rejected_where_no_margin_can_exist(name, container):
    X, y = small()
    X[5] = 0
    X = container(X)
    with pytest.raises(ValueError, match=r"^Row 5 of X is zero .*C=inf.*fit_intercept=True, a finite C"):
        make(name, C=math.inf, fit_intercept=False).fit(X, y)


@quiet
@pytest.mark.parametrize("name", UNSCALED)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_zero_row_is_accepted_by_algorithms_without_a_separability_requirement(name, container):
    X, y = small()
    X[5] = 0
    classifier = make(name, C=math.inf, fit_intercept=False, max_iter=20).fit(container(X), y)
    assert_finite(classifier, X)
    assert classifier.decision_function(X)[5] == 0
    (certificate,) = classifier.certificates_
    assert certificate.margin <= 0 and certificate.primal == math.inf  # it is on every such hyperplane
    others = np.arange(len(y)) != 5
    params = {"max_iter": 20, "fit_intercept": False}
    params |= {"shuffle": "never"} if name in NOISE_TOLERANT else {}
    whole, rest = make(name, **params).fit(X, y), make(name, **params).fit(X[others], y[others])
    if name in ("perceptron", "servedio-average"):  # adding zero adds nothing
        assert_allclose(whole.coef_, rest.coef_, rtol=1e-12)


@quiet
@each_algorithm
@pytest.mark.parametrize(("C", "fit_intercept"), [(1.0, False), (1.0, True), (math.inf, True)])
def test_zero_row_is_a_sample_like_others_where_a_margin_can_exist(name, C, fit_intercept):
    X, y = small(distance=6)
    X -= 3 * fit_intercept
    X[5] = 0
    classifier = make(name, C=C, fit_intercept=fit_intercept, max_iter=100).fit(X, y)
    assert_finite(classifier, X)
    if C == 1 and not fit_intercept:
        # Its own slack is 1, whatever the weights.
        assert classifier.certificates_[0].primal >= 1
        if getattr(classifier, "averaging", "last") == "last":
            assert classifier.dual_coef_[0, 5] > 0


@quiet
@each_algorithm
def test_matrix_of_zeros_leaves_the_bias(name):
    X, y = np.zeros((9, 2)), np.arange(9) % 3 > 0
    dense = make(name, C=1.0, max_iter=50).fit(X, y)
    anywhere = dense.decision_function(np.eye(2))
    assert_array_equal(anywhere, dense.decision_function(np.zeros((2, 2))))
    if issubclass(ALGORITHMS[name], MaximumMarginClassifier):
        assert (anywhere > 0).all()  # the six have the bias, not the three
    if name not in VOTING:
        assert_array_equal(dense.coef_, np.zeros((1, 2)))
    for given in (sparse.csr_array(X), sparse.csr_matrix(X.astype(np.float32))):
        fit = make(name, C=1.0, max_iter=50).fit(given, y)
        assert_array_equal(fit.decision_function(np.eye(2)), anywhere)


# --------------------------------------------------------------------------------------------- weights


@each_algorithm
def test_invalid_sample_weights_are_rejected(name):
    X, y = small()
    weight = np.ones(len(y))
    weight[[4, 7]] = -1, -2.5
    with pytest.raises(ValueError) as refusal:
        make(name).fit(X, y, weight)
    assert str(refusal.value) == (
        f"sample_weight of {shown_name(name, 'fit')} must be in [0, inf). Got -2.5 for sample 7."
    )
    for number in (np.nan, np.inf):
        weight[:] = 1
        weight[3] = number
        with pytest.raises(ValueError, match="sample_weight contains|NaN|infinity"):
            make(name).fit(X, y, weight)
    for wrong in (np.ones(len(y) - 1), np.ones((len(y), 1))):
        with pytest.raises(ValueError, match="[sS]ample.?weight"):
            make(name).fit(X, y, wrong)
    with pytest.raises(ValueError):
        make(name).fit(X, y, np.full(len(y), "heavy"))


@each_algorithm
@pytest.mark.parametrize("n_classes", [2, 3])
def test_class_without_a_positive_weight_is_rejected_by_its_label(name, n_classes):
    X, y = small(n_classes=n_classes)
    labels = np.array(["ham", "spam", "zebra"])[:n_classes]
    with pytest.raises(ValueError) as refusal:
        make(name).fit(X, labels[y], (y != 1).astype(float))
    expected = (
        f"Every class of {shown_name(name, 'fit')} must have a sample of positive weight. "
        "Got none of class 'spam'."
    )
    assert str(refusal.value) == expected
    with pytest.raises(ValueError) as refusal:
        make(name, class_weight={"spam": 0}).fit(X, labels[y])
    assert str(refusal.value) == expected
    with pytest.raises(ValueError, match="weight"):
        make(name).fit(X, y, np.zeros(len(y)))


@each_algorithm
@pytest.mark.parametrize("number", [-1, -1e-300, np.nan, np.inf])
def test_invalid_class_weights_are_rejected(name, number):
    X, y = small()
    sentence = rf"^class_weight of {re.escape(shown_name(name, 'fit'))} must be in \[0, inf\)"
    with pytest.raises(ValueError, match=sentence + rf".*\. Got {float(number)}"):
        make(name, class_weight={0: 1.0, 1: number}).fit(X, y)


@each_algorithm
def test_class_weight_of_an_unknown_class_is_rejected(name):
    X, y = small()
    for class_weight in ({0: 1.0, 7: 2.0}, {7: 2.0}, {"0": 1.0, "1": 2.0}):
        with pytest.raises(ValueError, match="class"):
            make(name, class_weight=class_weight).fit(X, y)


@quiet
@each_algorithm
def test_class_weight_that_covers_all_classes_may_name_more(name):
    # y may be a part of the data, as in cross-validation, without the rarest class.
    X, y = small()
    more = make(name, C=1.0, class_weight={0: 1.0, 1: 2.0, 7: 3.0}).fit(X, y)
    assert_same_model(more, make(name, C=1.0, class_weight={0: 1.0, 1: 2.0}).fit(X, y), X)


@quiet
@each_algorithm
def test_class_weight_may_be_any_mapping(name):
    X, y = small()
    expected = make(name, C=1.0, class_weight={1: 2.0}).fit(X, y)
    for mapping in (OrderedDict({1: 2.0}), types.MappingProxyType({1: 2.0})):
        assert_same_model(make(name, C=1.0, class_weight=mapping).fit(X, y), expected, X)
    assert_same_model(make(name, class_weight={}).fit(X, y), make(name).fit(X, y), X)


def assert_same_model(one, other, X):
    assert_array_equal(one.decision_function(X), other.decision_function(X))
    assert one.certificates_ == other.certificates_


# ------------------------------------------------------------------------------------------ prediction


@each_algorithm
def test_prediction_before_a_fit_is_rejected(name):
    X, _ = small()
    for method in ("predict", "decision_function"):
        with pytest.raises(NotFittedError, match=own_name(name)):
            getattr(make(name), method)(X)


@quiet
@each_algorithm
def test_prediction_for_invalid_input_is_rejected(name):
    X, y = small()
    classifier = make(name).fit(X, y)
    for method in (classifier.predict, classifier.decision_function):
        for wrong in (X[:, :2], np.hstack([X, X]), sparse.csr_array(X[:, :2])):
            with pytest.raises(ValueError, match=rf"{wrong.shape[1]} features, but .* 3 features"):
                method(wrong)
        with pytest.raises(ValueError, match="Expected 2D array"):
            method(X[0])
        with pytest.raises(ValueError, match="NaN"):
            method(np.full((2, 3), np.nan))
        assert_array_equal(method(sparse.csc_array(X)), method(sparse.csr_array(X)))


# ---------------------------------------------------------------------------------------------- scales


@quiet
@each_algorithm
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(("exponent", "C"), [(166, math.inf), (150, 1.0), (-150, 1.0), (-190, math.inf)])
def test_change_of_units_changes_nothing_but_the_units(name, exponent, C, fit_intercept):
    # x -> z x, rho -> z rho, C -> C / z^2, gamma -> z gamma. A power of 2 is exact but for pow.
    X, y = small(distance=6)
    z = 2.0**exponent
    params = {"fit_intercept": fit_intercept, "max_iter": 100}
    hard = {"gamma": 0.1} if name == "pfm" and math.isinf(C) else {}
    scaled = {"gamma": 0.1 * z} if hard else {}
    scaled |= {"a": z**2} if declares(name, "a") else {}
    plain = make(name, C=C, intercept_scaling=1.0, **params, **hard).fit(X, y)
    other = make(name, C=C / z**2, intercept_scaling=z, **params, **scaled).fit(X * z, y)
    assert_same_but_for_units(other, plain, X, z, exact=False)
    if name in NOISE_TOLERANT:
        # What is left to the data has their units, and then sums of samples have them exactly.
        plain = make(name, C=C, intercept_scaling=None, **params).fit(X, y)
        other = make(name, C=C / z**2, intercept_scaling=None, **params).fit(X * z, y)
        assert_same_but_for_units(other, plain, X, z, exact=True)


def assert_same_but_for_units(other, plain, X, z, exact):
    """`other` has learned from X * z what `plain` has learned from X."""
    assert other.n_updates_ == plain.n_updates_
    assert other.n_iter_ == plain.n_iter_
    assert other.converged_ == plain.converged_
    assert_array_equal(other.predict(X * z), plain.predict(X))
    rtol = 0 if exact else 1e-9
    if hasattr(plain, "votes_"):
        assert_array_equal(other.votes_, plain.votes_)
        assert_array_equal(other.mistakes_, plain.mistakes_)
        assert_array_equal(other.decision_function(X * z), plain.decision_function(X))
    elif isinstance(plain, tuple(ALGORITHMS[name] for name in UNSCALED if name not in STEPS)):
        assert_allclose(other.coef_ / z, plain.coef_, rtol=rtol)
        assert_allclose(other.intercept_ / z**2, plain.intercept_, rtol=rtol)
    else:
        assert_allclose(other.coef_ * z, plain.coef_, rtol=rtol)
        assert_allclose(other.intercept_, plain.intercept_, rtol=rtol)
    for field, unit in (("margin", z), ("upper_bound", z), ("fraction", 1), ("primal", z**-2)):
        expected = getattr(plain.certificates_[0], field) * unit
        assert getattr(other.certificates_[0], field) == pytest.approx(expected, rel=1e-9, abs=0)


@each_algorithm
@pytest.mark.parametrize("scale", [1e65, 1e160, 1e200, 1e305])
@pytest.mark.parametrize("C", [1.0, math.inf])
def test_row_too_long_for_double_arithmetic_is_rejected(name, scale, C):
    X, y = small()
    X[7] *= scale
    for given in (X, sparse.csr_array(X), np.asfortranarray(X)):
        with pytest.raises(ValueError, match=r"^Row 7 of X is too long: .* Scale the features\.$"):
            make(name, C=C).fit(given, y)


@quiet
@each_algorithm
@pytest.mark.parametrize("scale", [1e-30, 1e-60, 1e-100, 1e-160, 1e-200, 1e-310])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [1.0, math.inf])
def test_rows_of_any_small_length_are_rejected_or_certified_correctly(name, scale, C, fit_intercept):
    X, y = small(distance=6)
    ordinary = ALGORITHMS["mpu"](C=math.inf, fit_intercept=False, random_state=0).fit(X, y)
    had = ordinary.certificates_[0].margin * scale  # also with a bias or slack terms
    params = {"gamma": 0.1 * had} if name == "pfm" and math.isinf(C) else {}
    classifier = make(name, C=C, fit_intercept=fit_intercept, max_iter=5, **params)
    try:
        classifier.fit(X * scale, y)
    except ValueError as refusal:
        assert math.isinf(C) and scale < 1e-55
        assert re.search(r"X .*Scale the features\.$|^Row \d+ of X is zero", str(refusal))
        return
    (certificate,) = classifier.certificates_
    assert_finite(classifier, X * scale)
    assert certificate.upper_bound >= had * (1 - 1e-9)
    assert 0 <= certificate.fraction <= 1
    assert certificate.gap >= 0
    if classifier.converged_ and math.isinf(C) and name in SEPARATING:
        assert certificate.margin >= 0
        assert classifier.score(X * scale, y) == 1
    if C == 1 and name in UNSCALED and name not in VOTING:
        rho = math.sqrt(getattr(classifier, "sqrho_", 1.0))
        bias_weight = classifier.intercept_[0] / rho if fit_intercept and rho else 0.0
        products = np.where(y == 1, 1, -1) * classifier.decision_function(X * scale)
        sqnorm = np.sum(classifier.coef_**2) + bias_weight**2
        best = oracles.best_multiple(products, sqnorm, C)
        assert best * (1 - 1e-9) <= certificate.primal <= best * (1 + 1e-6)
    elif C == 1 and name not in VOTING:
        slack = np.maximum(1 - np.where(y == 1, 1, -1) * classifier.decision_function(X * scale), 0)
        loss = slack.sum() if classifier.loss == "hinge" else slack @ slack
        objective = 0.5 * np.sum(classifier.coef_**2) + 0.5 * classifier.intercept_[0] ** 2 + loss
        assert certificate.primal == pytest.approx(objective, rel=1e-9)


def outcome(classifier, X, y, *weight):
    """Either an error message or a valid certificate."""
    try:
        classifier.fit(X, y, *weight)
    except ValueError as refusal:
        return str(refusal)
    (certificate,) = classifier.certificates_
    assert_finite(classifier, X)
    assert 0 <= certificate.fraction <= 1
    assert certificate.gap >= 0
    assert not math.isnan(certificate.margin)
    return certificate


@quiet
@each_algorithm
@pytest.mark.parametrize("C", [1e-320, 1e-300, 1e-200, 1e-100, 1e-20])
def test_penalty_of_any_small_size_is_rejected_or_correct(name, C):
    X, y = small()
    result = outcome(make(name, C=C, max_iter=50), X, y)
    if isinstance(result, str):
        assert C < 1e-100
        assert re.search(r"^C of ", result)
    else:
        # As C -> 0 the best weights are 0, and every slack 1.
        assert result.primal == pytest.approx(len(y) * C, rel=1e-6)
        assert result.dual > 0


@quiet
@each_algorithm
@pytest.mark.parametrize("C", [1e10, 1e20, 1e30, 1e100, 1e300])
def test_penalty_of_any_large_size_is_rejected_or_the_hard_margin(name, C):
    X, y = small(distance=6)
    hard = ALGORITHMS["mpu"](C=math.inf, eps=1e-6, random_state=0).fit(X, y).certificates_[0]
    given = {"gamma": 0.5 * hard.margin} if name == "pfm" else {}
    classifier = make(name, C=C, max_iter=2000, **given)
    result = outcome(classifier, X, y)
    if isinstance(result, str):
        assert C > 1e20
        assert re.search(r"^C of ", result)
    else:
        assert result.margin <= hard.upper_bound * (1 + 1e-6)
        assert result.upper_bound >= hard.margin * (1 - 1e-6)
        assert classifier.converged_ or name in ENDLESS
        assert classifier.score(X, y) == 1 or name == "pegasos"
        if hasattr(classifier, "eps") and name != "pfm":
            assert result.margin >= (1 - classifier.eps) * hard.margin


@quiet
@each_algorithm
@pytest.mark.parametrize(
    ("C", "weight"), [(1e300, 1e300), (1e-200, 1e-200), (1.0, 1e-320), (1.0, 1e-200)]
)
def test_weights_that_leave_the_range_of_a_double_are_rejected_or_correct(name, C, weight):
    X, y = small()
    result = outcome(make(name, C=C, max_iter=50), X, y, np.full(len(y), weight))
    if isinstance(result, str):
        assert re.search("weight|^C of ", result)
    else:
        assert result.dual > 0
        assert result.primal < math.inf


@quiet
@each_algorithm
@pytest.mark.parametrize("rho", [1e-200, 1e-30, 1e30, 1e60, 1e100, 1e160, 1e300])
@pytest.mark.parametrize("C", [1.0, math.inf])
def test_intercept_scaling_of_any_size_is_rejected_or_correct(name, rho, C):
    X, y = small(distance=6)
    given = {"gamma": 1e-3} if name == "pfm" and math.isinf(C) else {}
    result = outcome(make(name, C=C, intercept_scaling=rho, max_iter=20, **given), X, y)
    if isinstance(result, str):
        assert not 1e-55 < rho < 1e55
        assert re.search("intercept_scaling of|^Row|^C of", result)
    else:
        # What hyperplanes through the origin can, those with a bias can.
        loss = ALGORITHMS[name].loss
        origin = ALGORITHMS["mpu"](C=C, loss=loss, fit_intercept=False, random_state=0).fit(X, y)
        assert result.upper_bound >= origin.certificates_[0].margin * (1 - 1e-9)


def test_an_int_beyond_every_double_is_rejected_with_a_message():
    X, y = small()
    with pytest.raises(
        ValueError, match=r"^C of pdm \(DynamicMarginPerceptron\) must be in .* Got 1000"
    ):
        ALGORITHMS["pdm"](C=10**400).fit(X, y)


NOT_OWN = ("C", "intercept_scaling", "max_iter", "random_state", "n_jobs", "verbose")
OWN_NUMBERS = [
    pytest.param(name, field, part, id=f"{name}-{field.name}")
    for name in NAMES
    for field in dataclasses.fields(ALGORITHMS[name])
    if field.name not in NOT_OWN
    # The same kernels for all: one with certificates, one that adds, one that votes.
    if name in ("mpu", "perceptron", "voted-perceptron") or field.name not in OF_KERNELS
    for part in parts_of(field.metadata["allowed"])
    if isinstance(part, Interval)
]


@quiet
@pytest.mark.parametrize("C", [1.0, math.inf])
@pytest.mark.parametrize(("name", "field", "interval"), OWN_NUMBERS)
def test_number_at_the_end_of_its_interval_is_rejected_or_correct(name, field, interval, C):
    X, y = small()
    ends = [end for end in (interval.low, interval.high) if math.isfinite(end)]
    numbers = ends + [np.nextafter(end, other).item() for end in ends for other in (-math.inf, math.inf)]
    numbers += [1e-300, 1e-17, 1e-8, 1e17, 1e300, 1.7e308, 0, 1, 10, 1000]
    losses = [{}, {"loss": "hinge"}] if hasattr(ALGORITHMS[name](), "delta_b") else [{}]
    for loss in losses:
        for number in filter(lambda number: allows(interval, number), numbers):
            given = beside(field.name, name)
            result = outcome(make(name, C=C, max_iter=5, **given, **{field.name: number}, **loss), X, y)
            if isinstance(result, str):
                of_kernel = "|The kernel 'poly' must have" * bool(given.get("kernel"))
                assert re.match(
                    rf"{field.name} of {re.escape(shown_name(name))} must{of_kernel}", result
                )


# -------------------------------------------------------------------------------------------- messages


@quiet
def test_rejected_fit_leaves_the_previous_one_unchanged():
    X, y = small()
    classifier = make("pdm").fit(X, y)
    before = classifier.coef_.copy(), classifier.classes_.copy()
    with pytest.raises(ValueError):
        classifier.set_params(eps=2).fit(X[:, :2], y)
    assert_array_equal(classifier.coef_, before[0])
    assert_array_equal(classifier.classes_, before[1])
    assert_allclose(classifier.decision_function(X), X @ before[0][0] + classifier.intercept_[0])
