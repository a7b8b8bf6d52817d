"""Where models are made from the runs that have ended."""

import math

import numpy as np
import pytest
from sklearn.datasets import load_iris
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


@pytest.mark.parametrize("params", [{}, {"solver": "newton"}, {"penalize_intercept": False}])
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_a_subclass_may_read_the_weights_of_outcomes(multi_class, params):
    class Reader(margins.MarginClassifier):
        """A classifier that reads what has ended."""

        def set_fitted(self, fit):
            super().set_fitted(fit)
            self.read_ = [outcome.scale * outcome.hypothesis.weights for outcome in fit.outcomes]

    samples, labels = load_iris(return_X_y=True)
    weight = 1.0 + labels
    params = dict(params, multi_class=multi_class, random_state=0)
    reader = Reader(**params).fit(samples, labels, weight)
    classifier = margins.MarginClassifier(**params).fit(samples, labels, weight)
    for name in ("coef_", "intercept_", "dual_coef_"):
        np.testing.assert_array_equal(getattr(classifier, name), getattr(reader, name))
    np.testing.assert_array_equal(classifier.coef_, reader.read_)
