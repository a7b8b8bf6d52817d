"""Data and weights that are not allowed raise an error that says what and where."""

import math
import re
import types
from collections import OrderedDict

import numpy as np
import pytest
from algorithm_groups import (
    ALGORITHMS,
    NAMES,
    NOISE_TOLERANT,
    UNSCALED,
    VOTING,
    each_algorithm,
    each_representative,
    quiet,
    shown_name,
)
from constraints import assert_finite
from numpy.testing import assert_allclose, assert_array_equal
from problems import make, small
from scipy import sparse

from margins.estimators.maximum_margin import MaximumMarginClassifier


def changed(X, place, number):
    X = X.copy()
    X[place] = number
    return X


def weights(**numbers):
    """Weights of 1, but for those of some samples: ``weights(_4=-1)``."""
    weight = np.ones(24)
    for place, number in numbers.items():
        weight[int(place[1:])] = number
    return weight


X, Y = small()
WEIGHT = r"^sample_weight of {fit} must be in \[0, inf\)\. Got {got} for sample {row}\.$"
NO_NUMBER = "sample_weight contains|NaN|infinity"
CLASS_WEIGHT = r"^class_weight of {name} must be .*a mapping to numbers in \[0, inf\)\. Got .*1: {got}"
ONE_CLASS = r"^y of {fit} must hold at least 2 classes\. Got 1 class: {got}\.$"
NO_WEIGHT = r"^At least 2 classes of {fit} must have samples of positive weight\. Got 1: 'ham'\.$"
LABELS = np.array(["ham", "spam"])[Y]
# (a regular expression of the error, what is wrong with the arguments): {what is wrong: ...}.
REFUSED = {
    **{
        f"{number} in X, {kind}": ("NaN|infinity", {"X": container(changed(X, (3, 1), number))})
        for number in (np.nan, np.inf, -np.inf)
        for kind, container in {
            "dense": np.asarray,
            "CSR": sparse.csr_array,
            "float32": np.float32,
            "Fortran order": np.asfortranarray,
            "list": np.ndarray.tolist,
        }.items()
    },
    "one row": ("Expected 2D array, got 1D array", {"X": X[0]}),
    "three dimensions": ("dim 3|3 dim", {"X": X[None]}),
    "no sample": ("0 sample", {"X": X[:0], "y": Y[:0]}),
    "no feature": ("0 feature", {"X": X[:, :0]}),
    "a label short": ("inconsistent numbers of samples", {"y": Y[:-1]}),
    "a label short, CSR": (
        "inconsistent numbers of samples",
        {"X": sparse.csr_array(X), "y": Y[:-1]},
    ),
    "two columns of labels": ("y should be a 1d array", {"y": np.stack([Y, Y], axis=1)}),
    "no labels": ("requires y to be passed", {"y": None}),
    "complex numbers": ("Complex data not supported", {"X": X + 0j}),
    "text": ("could not convert string to float", {"X": np.full(X.shape, "a")}),
    "None": ("NaN|float", {"X": np.full(X.shape, None)}),
    **{
        f"one class, {label!r}": (
            ONE_CLASS.replace("{got}", re.escape(repr(label))),
            {"y": np.full(24, label)},
        )
        for label in (0, -1, 3.0, "spam", False)
    },
    "real numbers as labels": ("Unknown label type: continuous", {"y": Y + 0.5 * X[:, 0]}),
    "NaN among the labels": ("contains NaN", {"y": np.where(Y == 0, np.nan, 1.0)}),
    "None among the labels": ("label|None|str", {"y": np.array([None, "spam"], object)[Y]}),
    "negative weights": (
        WEIGHT.replace("{got}", "-2.5").replace("{row}", "7"),
        {"sample_weight": weights(_4=-1, _7=-2.5)},
    ),
    "a weight of NaN": (NO_NUMBER, {"sample_weight": weights(_3=np.nan)}),
    "an infinite weight": (NO_NUMBER, {"sample_weight": weights(_3=np.inf)}),
    "a weight short": ("[sS]ample.?weight", {"sample_weight": np.ones(23)}),
    "a column of weights": ("[sS]ample.?weight", {"sample_weight": np.ones((24, 1))}),
    "the name of class weights as weights": (
        "sample_weight of .* must be a number, or hold .* Got 'balanced'",
        {"sample_weight": "balanced"},
    ),
    "text as weights": ("heavy", {"sample_weight": np.full(24, "heavy")}),
    "numbers in text as weights": ("must be a number, or .* Got .*2", {"sample_weight": ["2"] * 24}),
    "weights of 0": ("weight", {"sample_weight": np.zeros(24)}),
    "a class of weight 0": (NO_WEIGHT, {"y": LABELS, "sample_weight": (Y != 1).astype(float)}),
    "a class weight of 0": (NO_WEIGHT, {"y": LABELS, "class_weight": {"spam": 0}}),
    **{
        f"a class weight of {number}": (
            CLASS_WEIGHT.replace("{got}", re.escape(repr(number))),
            {"class_weight": {0: 1.0, 1: number}},
        )
        for number in (-1, -1e-300, np.nan, np.inf, "2", None, (1, 2), 1j)
    },
    "a class weight of another class": ("class", {"class_weight": {0: 1.0, 7: 2.0}}),
    "class weights of other classes": ("class", {"class_weight": {7: 2.0}}),
    "class weights of strings": ("class", {"class_weight": {"0": 1.0, "1": 2.0}}),
}


@each_algorithm
def test_every_algorithm_refuses_what_it_cannot_train_on(name):
    for what, (sentence, given) in REFUSED.items():
        arguments = {"X": X, "y": Y, **given}
        classifier = make(name, class_weight=arguments.pop("class_weight", None))
        sentence = sentence.replace("{fit}", re.escape(shown_name(name, "fit")))
        sentence = sentence.replace("{name}", re.escape(shown_name(name)))
        with pytest.raises((ValueError, TypeError)) as refusal:
            classifier.fit(**arguments)
        assert re.search(sentence, str(refusal.value)), what
        assert isinstance(refusal.value, ValueError) or what.startswith("None"), what
        assert not [key for key in vars(classifier) if key.endswith("_")], what


SPARSE = [
    f"{kind}_{container}"
    for kind in ("csc", "coo", "lil", "bsr", "dok", "dia")
    for container in ("matrix", "array")
]


@quiet
@pytest.mark.parametrize("kind", SPARSE)
def test_other_sparse_formats_are_converted(kind):
    X, y = small()
    X[np.abs(X) < 0.7] = 0
    given = getattr(sparse, kind)(X)
    for name in ("auto", "perceptron", "voted-perceptron"):  # the conversion is one for all
        expected = make(name).fit(sparse.csr_array(X), y)
        classifier = make(name).fit(given, y)
        scores = classifier.decision_function(sparse.csr_array(X))
        assert_array_equal(scores, expected.decision_function(sparse.csr_array(X)), err_msg=name)
        if "dia" not in kind:  # which cannot be indexed, for all that check_array does with it
            assert_array_equal(classifier.predict(given), expected.predict(X), err_msg=name)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in UNSCALED])
def test_zero_row_is_rejected_if_no_margin_can_exist(name):
    X, y = small()
    X[5] = 0
    sentence = r"^Row 5 of X is zero .*C=inf.*fit_intercept=True or a finite C"
    for container in (np.asarray, sparse.csr_array):
        with pytest.raises(ValueError, match=sentence):
            make(name, C=math.inf, fit_intercept=False).fit(container(X), y)


@quiet
@pytest.mark.parametrize("name", UNSCALED)
def test_zero_row_is_allowed_if_no_separating_hyperplane_is_required(name):
    X, y = small()
    X[5] = 0
    for container in (np.asarray, sparse.csr_array):
        classifier = make(name, C=math.inf, fit_intercept=False, max_iter=20).fit(container(X), y)
        assert_finite(classifier, X)
        assert classifier.decision_function(X)[5] == 0
        (certificate,) = classifier.certificates_
        # The row is on every such hyperplane.
        assert certificate.margin <= 0 and certificate.primal == math.inf
    others = np.arange(len(y)) != 5
    params = {"max_iter": 20, "fit_intercept": False}
    params |= {"shuffle": "never"} if name in NOISE_TOLERANT else {}
    whole, rest = make(name, **params).fit(X, y), make(name, **params).fit(X[others], y[others])
    if name in ("perceptron", "servedio-average"):  # adding zero adds nothing
        assert_allclose(whole.coef_, rest.coef_, rtol=1e-12)


@quiet
@each_algorithm
def test_zero_row_is_an_ordinary_sample_if_a_margin_can_exist(name):
    for C, fit_intercept in ((1.0, False), (1.0, True), (math.inf, True)):
        X, y = small(distance=6)
        X -= 3 * fit_intercept
        X[5] = 0
        classifier = make(name, C=C, fit_intercept=fit_intercept, max_iter=100).fit(X, y)
        assert_finite(classifier, X)
        if not fit_intercept:
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


@quiet
@each_representative
def test_class_weight_may_be_any_mapping_and_name_classes_that_y_lacks(name):
    # y may be a part of the data, as in cross-validation, without the rarest class.
    X, y = small()
    for given, same in (
        ({0: 1.0, 1: 2.0, 7: 3.0}, {0: 1.0, 1: 2.0}),
        (OrderedDict({1: 2.0}), {1: 2.0}),
        (types.MappingProxyType({1: 2.0}), {1: 2.0}),
        ({}, None),
    ):
        one, other = (make(name, C=1.0, class_weight=weight).fit(X, y) for weight in (given, same))
        assert_array_equal(one.decision_function(X), other.decision_function(X))
        assert one.certificates_ == other.certificates_
