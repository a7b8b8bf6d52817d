"""Parameters that are not allowed raise an error before any work; allowed ones do not."""

import dataclasses
import fractions
import math
import re

import numpy as np
import pytest
from algorithm_groups import (
    ALGORITHMS,
    LINEAR,
    NAMES,
    REPRESENTATIVES,
    each_algorithm,
    quiet,
    shown_name,
)
from constraints import allows, beside, parts_of
from numpy.testing import assert_array_equal
from problems import make, small

from margins.estimators.base import BaseMarginClassifier
from margins.parameters import Interval, OneOf


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


def fields_of(name):
    """The parameters of an algorithm; if another has its methods, those that not all algorithms have."""
    of_all = {} if name in REPRESENTATIVES else BaseMarginClassifier.__dataclass_fields__
    for field in dataclasses.fields(ALGORITHMS[name]):
        if field.name not in of_all or field.metadata != of_all[field.name].metadata:
            yield field


@each_algorithm
def test_wrong_parameter_is_rejected_by_a_sentence_before_any_work(name):
    for field in fields_of(name):
        allowed = field.metadata["allowed"]
        wrong = [value for value in candidates(allowed) if not allows(allowed, value)]
        assert len(wrong) >= 10
        for value in wrong:
            classifier = ALGORITHMS[name](**{field.name: value})
            with pytest.raises(ValueError) as refusal:
                classifier.fit(None, None)
            expected = f"{field.name} of {shown_name(name)} must be {allowed}. Got {value!r}."
            assert str(refusal.value).startswith(expected)  # advice may follow
            assert not [key for key in vars(classifier) if key.endswith("_")]


@each_algorithm
def test_allowed_parameter_is_not_rejected(name):
    for field in fields_of(name):
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


def test_zero_jobs_are_rejected_before_any_work():
    for name in NAMES:
        sentence = rf"^n_jobs of {re.escape(shown_name(name))} must be .*\. Got 0\.$"
        with pytest.raises(ValueError, match=sentence):
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
def test_fixed_margin_without_gamma_is_rejected_if_nothing_ensures_a_margin(C):
    X, y = small()
    classifier = ALGORITHMS["pfm"](C=C, random_state=0)
    if C == 1:
        assert classifier.fit(X, y).converged_
    else:
        with pytest.raises(
            ValueError, match=r"^gamma of pfm \(FixedMarginPerceptron\) must be .*C.*\. Got None\.$"
        ):
            classifier.fit(X, y)
