"""Units, penalties and weights of any size: an error, or a sound certificate."""

import dataclasses
import math
import re
from itertools import product

import exact_optima
import numpy as np
import pytest
from algorithm_groups import (
    ALGORITHMS,
    ENDLESS,
    NAMES,
    NOISE_TOLERANT,
    SEPARATING,
    STEPS,
    UNSCALED,
    VOTING,
    each_algorithm,
    quiet,
    shown_name,
)
from constraints import OF_KERNELS, allows, assert_finite, beside, parts_of
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from problems import make, small
from properties import examples
from scipy import sparse

from margins.data.chunks import Chunks
from margins.parameters import Interval

names = st.sampled_from(NAMES)
penalties = st.sampled_from([1.0, math.inf])


def powers_of_ten(low, high):
    return st.floats(low, high).map(lambda exponent: 10.0**exponent)


def declares(name, parameter):
    return parameter in {field.name for field in dataclasses.fields(ALGORITHMS[name])}


@quiet
@each_algorithm
@pytest.mark.parametrize(
    ("exponent", "C", "fit_intercept"), [(166, math.inf, True), (-150, 1.0, True), (150, 1.0, False)]
)
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
    # Where updates set the length of coef_, its objective has no common unit.
    is_unscaled = isinstance(plain, tuple(ALGORITHMS[name] for name in UNSCALED))
    primal = "rescaled_primal" if is_unscaled else "primal"
    for field, unit in (("margin", z), ("upper_bound", z), ("fraction", 1), (primal, z**-2)):
        expected = getattr(plain.certificates_[0], field) * unit
        assert getattr(other.certificates_[0], field) == pytest.approx(expected, rel=1e-9, abs=0)


@examples(30)
@given(name=names, scale=powers_of_ten(65, 305), C=penalties)
def test_row_too_long_for_double_arithmetic_is_rejected(name, scale, C):
    X, y = small()
    X[7] *= scale
    for container in (np.asarray, sparse.csr_array, np.asfortranarray):
        with pytest.raises(ValueError, match=r"^Row 7 of X is too long: .* Scale the features\.$"):
            make(name, C=C).fit(container(X), y)


@quiet
@examples(100)
@given(name=names, scale=powers_of_ten(-310, -30), C=penalties, fit_intercept=st.booleans())
@example(name="alpha-bound", scale=1e-163, C=math.inf, fit_intercept=False)  # its squares are 0
def test_short_rows_are_rejected_or_have_a_true_certificate(name, scale, C, fit_intercept):
    X, y = small(distance=6)
    ordinary = ALGORITHMS["mpu"](C=math.inf, fit_intercept=False, random_state=0).fit(X, y)
    had = ordinary.certificates_[0].margin * scale  # also with bias or slack terms
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
    if C == 1 and name not in VOTING:
        rho = math.sqrt(getattr(classifier, "sq_intercept_scaling_", 1.0))
        bias_weight = classifier.intercept_[0] / rho if fit_intercept and rho else 0.0
        products = np.where(y == 1, 1, -1) * classifier.decision_function(X * scale)
        sqnorm = np.sum(classifier.coef_**2) + bias_weight**2
        slack = np.maximum(1 - products, 0)
        loss = slack.sum() if classifier.loss == "hinge" else slack @ slack
        assert certificate.primal == pytest.approx(0.5 * sqnorm + loss, rel=1e-9)
        if name in UNSCALED:
            best = exact_optima.best_multiple(products, sqnorm, C)
            assert best * (1 - 1e-9) <= certificate.rescaled_primal <= best * (1 + 1e-6)


@quiet
def test_rows_whose_squares_are_0_are_too_small_for_a_hard_margin():
    X, y = small(distance=6)
    X *= 1e-163
    classifier = make("perceptron", C=math.inf, fit_intercept=False, max_iter=5)
    for samples in ((X, y), (sparse.csr_array(X), y), (Chunks.of_rows(X, y, n_rows=10),)):
        with pytest.raises(ValueError, match=r"X is too small: .*, or X must be 0\. Got 0\."):
            classifier.fit(*samples)
    for zeros in ((0 * X, y), (Chunks.of_rows(0 * X, y, n_rows=10),)):
        assert not classifier.fit(*zeros).coef_.any()


def outcome(classifier, X, y, *weight):
    """A sentence, or a sound certificate: nothing in between."""
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
@examples(50)
@given(name=names, C=powers_of_ten(-320, -20))
def test_small_penalty_is_rejected_or_has_a_correct_result(name, C):
    X, y = small()
    result = outcome(make(name, C=C, max_iter=50), X, y)
    if isinstance(result, str):
        assert C < 1e-100
        assert re.search(r"^C of ", result)
    else:
        # As C -> 0 the best weights are 0, and every slack 1.
        assert result.rescaled_primal == pytest.approx(len(y) * C, rel=1e-6)
        assert result.dual > 0


@quiet
@examples(50)
@given(name=names, C=powers_of_ten(10, 300))
def test_large_penalty_is_rejected_or_gives_the_hard_margin(name, C):
    X, y = small(distance=6)
    hard = ALGORITHMS["mpu"](C=math.inf, eps=1e-6, random_state=0).fit(X, y).certificates_[0]
    required = {"gamma": 0.5 * hard.margin} if name == "pfm" else {}
    classifier = make(name, C=C, max_iter=2000, **required)
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
@examples(50)
@given(
    name=names,
    extremes=st.sampled_from([(1e300, 1e300), (1e-200, 1e-200), (1.0, 1e-320), (1.0, 1e-200)]),
)
def test_weights_out_of_the_range_of_a_double_are_rejected_or_have_a_correct_result(name, extremes):
    C, weight = extremes
    X, y = small()
    result = outcome(make(name, C=C, max_iter=50), X, y, np.full(len(y), weight))
    if isinstance(result, str):
        assert re.search("weight|^C of ", result)
    else:
        assert result.dual > 0
        assert result.primal < math.inf


@quiet
@examples(100)
@given(name=names, rho=powers_of_ten(-200, 300), C=penalties)
def test_intercept_scaling_of_any_size_is_rejected_or_has_a_correct_result(name, rho, C):
    X, y = small(distance=6)
    required = {"gamma": 1e-3} if name == "pfm" and math.isinf(C) else {}
    result = outcome(make(name, C=C, intercept_scaling=rho, max_iter=20, **required), X, y)
    if isinstance(result, str):
        assert not 1e-55 < rho < 1e55
        assert re.search("intercept_scaling of|^Row|^C of", result)
    else:
        # What hyperplanes through the origin can, those with a bias can.
        loss = ALGORITHMS[name].loss
        origin = ALGORITHMS["mpu"](C=C, loss=loss, fit_intercept=False, random_state=0).fit(X, y)
        assert result.upper_bound >= origin.certificates_[0].margin * (1 - 1e-9)


def test_an_int_beyond_every_double_is_rejected_by_a_sentence():
    X, y = small()
    with pytest.raises(
        ValueError, match=r"^C of pdm \(DynamicMarginPerceptron\) must be in .* Got 1000"
    ):
        ALGORITHMS["pdm"](C=10**400).fit(X, y)


NOT_OWN = ("C", "intercept_scaling", "max_iter", "random_state", "n_jobs", "verbose")


def intervals_of(name):
    """Pairs (parameter, interval of its numbers), of what an algorithm has beside what all have."""
    for field in dataclasses.fields(ALGORITHMS[name]):
        # The same kernels for all: one with certificates, one that adds, one that votes.
        has_kernels = name in ("mpu", "perceptron", "voted-perceptron")
        if field.name not in NOT_OWN and (has_kernels or field.name not in OF_KERNELS):
            for part in parts_of(field.metadata["allowed"]):
                if isinstance(part, Interval):
                    yield field.name, part


def numbers_about(interval):
    """Numbers at the ends of an interval, beside them, and of any size."""
    ends = [end for end in (interval.low, interval.high) if math.isfinite(end)]
    yield from ends
    for end in ends:
        yield from (np.nextafter(end, other).item() for other in (-math.inf, math.inf))
    yield from (1e-300, 1e-8, 1e300, 1.7e308, 0, 1, 1000)


@quiet
@pytest.mark.parametrize("C", [1.0, math.inf])
@each_algorithm
def test_number_at_the_end_of_its_interval_is_rejected_or_has_a_sound_result(name, C):
    X, y = small()
    losses = [{}, {"loss": "hinge"}] if hasattr(ALGORITHMS[name](), "delta_b") else [{}]
    for loss, (parameter, interval) in product(losses, intervals_of(name)):
        for number in filter(lambda number: allows(interval, number), numbers_about(interval)):
            others = beside(parameter, name)
            result = outcome(make(name, C=C, max_iter=5, **others, **{parameter: number}, **loss), X, y)
            if isinstance(result, str):
                of_kernel = "|The kernel 'poly' must have" * bool(others.get("kernel"))
                of_kernel += "|C of .* must be finite with penalty=" * bool(others.get("penalty"))
                assert re.match(rf"{parameter} of {re.escape(shown_name(name))} must{of_kernel}", result)
