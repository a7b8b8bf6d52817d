"""One thread at a time in the training of one estimator, beside predictions."""

import threading

import numpy as np
import pytest
from algorithm_groups import ALGORITHMS
from numpy.testing import assert_array_equal
from stream_problems import VOTING, assert_same_model, clouds, in_chunks, make

import margins


def test_an_estimator_in_use_rejects_a_second_call_and_is_free_after_an_error():
    X, y = clouds()
    entered, proceed = threading.Event(), threading.Event()

    def kernel(A, B):
        entered.set()
        assert proceed.wait(60)
        return A @ B.T

    fitted = margins.get("averaged-perceptron")(kernel=kernel, random_state=0, max_iter=2)
    thread = threading.Thread(target=lambda: fitted.fit(X, y))
    thread.start()
    assert entered.wait(60)
    with pytest.raises(RuntimeError, match="AveragedPerceptron.fit must be called by one thread at"):
        fitted.fit(X, y)
    proceed.set()
    thread.join()
    with pytest.raises(ValueError):
        fitted.fit(X * np.nan, y)
    fitted.fit(X, y)


def test_a_chunk_that_is_running_excludes_fit_and_partial_fit_and_no_predictions():
    entered, proceed = threading.Event(), threading.Event()

    class Slow(ALGORITHMS[VOTING]):
        """The voted perceptron, which waits."""

        def online_rules(self, sqradius):
            if hasattr(self, "n_iter_"):
                entered.set()
                assert proceed.wait(60)
            return super().online_rules(sqradius)

    X, y = clouds()
    classifier = Slow().partial_fit(X, y, classes=[0, 1])
    plain = make(VOTING).partial_fit(X, y, classes=[0, 1])
    thread = threading.Thread(target=lambda: classifier.partial_fit(X[::-1], y[::-1]))
    thread.start()
    assert entered.wait(60)
    for call in (classifier.fit, classifier.partial_fit):
        with pytest.raises(RuntimeError, match="in use by another thread"):
            call(X, y)
    assert_array_equal(classifier.decision_function(X), plain.decision_function(X))
    proceed.set()
    thread.join()
    assert_same_model(classifier, plain.partial_fit(X[::-1], y[::-1]))


@pytest.mark.parametrize("name", [VOTING, "budget-perceptron"])
def test_predictions_run_while_another_thread_adds_chunks(name):
    X, y = clouds(m=100, distance=0.1)
    classifier = make(name).partial_fit(X[:5], y[:5], classes=[0, 1])
    errors = []

    def predict():
        try:
            while thread.is_alive():
                assert np.isfinite(classifier.decision_function(X[:20])).all()
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=lambda: in_chunks(classifier, X, y, 3))
    thread.start()
    predicting = threading.Thread(target=predict)
    predicting.start()
    predict()
    thread.join()
    predicting.join()
    assert errors == []
