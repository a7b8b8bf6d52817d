"""Data and weights that are not allowed raise an error that says what and where."""

import math
import re
import types
from collections import OrderedDict

import numpy as np
import pytest
from algorithm_groups import ALGORITHMS, NAMES, NOISE_TOLERANT, UNSCALED, VOTING, each_with_some, quiet
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import NotFittedError
from small_problems import assert_finite, each_algorithm, make, own_name, shown_name, small

from margins.estimators.maximum_margin import MaximumMarginClassifier

# -------------------------------------------------------------------------------------------------- X, y


@pytest.mark.parametrize(("name", "number"), each_with_some([np.nan, np.inf, -np.inf]))
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


@pytest.mark.parametrize(("name", "label"), each_with_some([0, -1, 3.0, "spam", False]))
def test_error_for_one_class_names_its_label(name, label):
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


SPARSE = [
    f"{kind}_{container}"
    for kind in ("csc", "coo", "lil", "bsr", "dok", "dia")
    for container in ("matrix", "array")
]


@quiet
@pytest.mark.parametrize(("name", "kind"), each_with_some(SPARSE))
def test_other_sparse_formats_are_converted(name, kind):
    X, y = small()
    X[np.abs(X) < 0.7] = 0
    expected = make(name).fit(sparse.csr_array(X), y)
    given = getattr(sparse, kind)(X)
    classifier = make(name).fit(given, y)
    scores = classifier.decision_function(sparse.csr_array(X))
    assert_array_equal(scores, expected.decision_function(sparse.csr_array(X)))
    if "dia" not in kind:  # which cannot be indexed, for all that check_array does with it
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
def test_zero_row_is_allowed_where_no_separating_hyperplane_is_required(name, container):
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


# ----------------------------------------------------------------------------------------------- weights


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


@pytest.mark.parametrize(("name", "number"), each_with_some([-1, -1e-300, np.nan, np.inf]))
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


# -------------------------------------------------------------------------------------------- prediction


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


# ---------------------------------------------------------------------------------------------- messages


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
