"""Where models are made from the runs that have ended."""

import math

import pytest
from sklearn.exceptions import NotFittedError

import margins

X, y = [[1.0, 2.0], [2.0, 1.0], [-1.0, -1.0], [-2.0, 0.0]], [1, 1, 0, 0]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of what is not finite
@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("params", [{}, {"kernel": "rbf"}])
@pytest.mark.parametrize("name", ["auto", "perceptron"])
def test_a_model_that_is_not_finite_is_an_error_and_leaves_the_estimator_as_it_was(
    name, params, value, monkeypatch
):
    monkeypatch.setattr("margins.solvers.outcome.Outcome.intercept", lambda *_: value)
    classifier = margins.get(name)(**params)
    with pytest.raises(ValueError, match=r"X of .* must have columns .* not finite in double"):
        classifier.fit(X, y)
    with pytest.raises(NotFittedError):
        classifier.predict(X)
