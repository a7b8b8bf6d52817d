"""Labels that are objects, and X that is times: classes that are exact, or an error that shows one."""

import datetime
import decimal
import enum
import fractions
import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import margins
from margins.data.chunks import Chunks
from margins.model_selection import parameter_search

X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 0.0]])
Y = np.array([1, 1, 1, 0])


class Spam(enum.Enum):
    HAM = 1
    EGGS = 2


OBJECTS = {
    "enum": [Spam.HAM, Spam.EGGS, Spam.HAM, Spam.HAM],
    "Decimal": [decimal.Decimal(k) for k in (1, 2, 2, 1)],
    "Fraction": np.array([fractions.Fraction(k) for k in (1, 2, 2, 1)]),
    "Period": pd.Series(pd.PeriodIndex(["2020-01", "2021-01", "2020-01", "2020-01"], freq="M")),
    "date": [datetime.date(year, 1, 1) for year in (2020, 2021, 2020, 2021)],
    "Timestamp": pd.Series(pd.to_datetime(["2020-01-01", "2021-01-01"] * 2, utc=True)),
}


@pytest.mark.parametrize("kind", OBJECTS)
def test_labels_that_are_other_objects_are_named(kind):
    labels = np.asarray(OBJECTS[kind], dtype=object).tolist()
    got = re.escape(f"Got {type(labels[0]).__name__}, {labels[0]!r}: convert these labels to str")
    calls = {
        "Perceptron.fit": margins.get("perceptron")().fit,
        "Perceptron.partial_fit": lambda X, y: margins.get("perceptron")().partial_fit(X, y, ["a", "b"]),
        "chunk 0": lambda X, y: margins.MarginClassifier().fit(Chunks([(X, y)])),
        "parameter_search": partial(parameter_search, margins.MarginClassifier(), {"C": [1.0]}),
    }
    for caller, call in calls.items():
        with pytest.raises(ValueError, match=f"^y of {caller}.* must hold numbers or str. {got}"):
            call(X, OBJECTS[kind])


def test_numbers_in_an_array_of_objects_are_exact_classes():
    for values in ([2**53, 2**53 + 1], [1.0, 2.0], [False, True]):
        y = pd.Series(values * 2, dtype=object)
        expected = margins.MarginClassifier().fit(X, np.array(values * 2))
        classifier = margins.MarginClassifier().fit(X, y)
        assert_array_equal(classifier.classes_, expected.classes_)
        assert classifier.classes_.dtype == expected.classes_.dtype
        assert classifier.score(X, y) == expected.score(X, y)
        selected = margins.MarginClassifierCV(Cs=[1.0], cv=2).fit(np.r_[X, X], pd.concat([y, y]))
        assert selected.score(X, y) == selected.score(X, np.array(values * 2))


TIMES = {
    "array": (np.array([["2020-01-01"], ["2020-01-02"]] * 2, "M8[D]"), r"datetime64\[D\]: "),
    "durations": (np.array([[1], [2]] * 2, "m8[s]"), r"timedelta64\[s\]: "),
    "frame": (
        pd.DataFrame({"a": [1.0] * 4, "when": pd.to_datetime(["2020-01-01"] * 4, utc=True)}),
        r"datetime64\[.*\] in column 'when': ",
    ),
    "objects": (np.array([[1.0, datetime.date(2020, 1, 1)]] * 4, object), "date in column 1: "),
    "lists": ([[np.datetime64("2020-01-01"), 1]] * 4, r"datetime64\[D\] in column 0: "),
}


@pytest.mark.parametrize("kind", TIMES)
def test_times_have_no_numbers_without_a_unit(kind):
    times, got = TIMES[kind]
    perceptron = margins.get("perceptron")()
    fitted = margins.MarginClassifier().fit(X[:, :1] if kind == "array" else X, Y)
    for call in (
        lambda: margins.MarginClassifier().fit(times, Y),
        lambda: perceptron.partial_fit(times, Y, [0, 1]),
        lambda: fitted.predict(times),
        lambda: margins.MarginClassifier().fit(Chunks([(times, Y)])),
    ):
        with pytest.raises(ValueError, match=f"^(X|chunk 0) of .* must hold numbers. Got {got}"):
            call()
