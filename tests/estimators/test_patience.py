"""`tol` and `n_iter_no_change`: where a fit ends whose loss has ceased to fall."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from problems import clouds
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_score

import margins
from margins.data.chunks import Chunks
from margins.model_selection import parameter_search

NAMES = ("perceptron", "averaged-perceptron", "pam", "paum", "pa", "pa-i", "norma")
EPOCHS = 40


def loss_of(classifier, X, y, weight=None):
    """The mean loss of a linear classifier of two classes, from what it returns."""
    at = 1.0 if classifier.LOSS_MARGIN else 0.0
    signed = np.where(y == 1, 1, -1) * (X @ classifier.coef_[0] + classifier.intercept_[0])
    return float(np.average(np.maximum(at - signed, 0), weights=weight))


def expected_end(losses, tol, n_iter_no_change):
    """The epoch after which scikit-learn would end, given the losses of all epochs; None: after none."""
    least, n_without = np.inf, 0
    for epoch, loss in enumerate(losses, 1):
        n_without = n_without + 1 if loss > least - tol else 0
        least = min(least, loss)
        if n_without >= n_iter_no_change:
            return epoch
    return None


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("tol", "n_iter_no_change"), [(1e-3, 5), (0.1, 1), (0.0, 3)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_fit_ends_where_its_losses_say(name, tol, n_iter_no_change):
    X, y = clouds(m=120, d=6)
    params = {"random_state": 0} | ({"averaging": "last"} if "perceptron" in name else {})
    losses = [
        loss_of(margins.get(name)(max_iter=epochs, **params).fit(X, y), X, y)
        for epochs in range(1, EPOCHS + 1)
    ]
    fit = margins.get(name)(max_iter=EPOCHS, tol=tol, n_iter_no_change=n_iter_no_change, **params).fit(
        X, y
    )
    assert fit.n_iter_ == (expected_end(losses, tol, n_iter_no_change) or EPOCHS)
    shorter = margins.get(name)(max_iter=fit.n_iter_, **params).fit(X, y)
    assert_array_equal(fit.coef_, shorter.coef_)


def test_an_end_by_tol_counts_as_convergence():
    X, y = clouds(m=120, d=6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = margins.get("perceptron")(tol=1e-3, random_state=0).fit(X, y)
    assert fit.converged_ and fit.n_iter_ < 100
    with pytest.warns(UserWarning, match="did not converge: max_iter=3"):
        assert not margins.get("perceptron")(tol=1e-3, max_iter=3).fit(X, y).converged_


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_every_class_ends_for_itself(n_jobs):
    X, y = clouds(3, m=120, d=6, seed=1)
    fit = margins.get("pam")(tol=1e-3, random_state=0, n_jobs=n_jobs).fit(X, y)
    epochs = [len(curve) for curve in fit.learning_curve_]
    assert fit.n_iter_ == max(epochs) < 100 and len(set(epochs)) > 1


def test_the_loss_is_weighted_and_computed_with_the_kernel():
    X, y = clouds(m=120, d=6)
    weight = np.where(y == 1, 5.0, 1.0)
    ends = []
    for kernel in ("linear", lambda X, Z: X @ Z.T):
        fit = margins.get("pa-i")(tol=0.01, n_iter_no_change=2, kernel=kernel, random_state=0)
        ends.append(fit.fit(X, y, weight).n_iter_)
    params = {"kernel": "linear", "random_state": 0}
    losses = [
        loss_of(margins.get("pa-i")(max_iter=epochs, **params).fit(X, y, weight), X, y, weight)
        for epochs in range(1, EPOCHS + 1)
    ]
    assert ends == [expected_end(losses, 0.01, 2)] * 2


def test_studies_end_every_fit_as_a_single_one():
    X, y = clouds(m=120, d=6)
    settings = {"eta": [0.1, 1.0], "tol": [1e-3, None]}
    classifier = margins.get("perceptron")(max_iter=30, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = parameter_search(classifier, settings, X, y, cv=StratifiedKFold(3))
        for setting, mean in zip(search.tables[0].settings, search.tables[0].mean_scores(), strict=True):
            single = cross_val_score(clone(classifier).set_params(**setting), X, y, cv=3)
            assert mean == pytest.approx(single.mean())


def test_chunks_are_refused():
    X, y = clouds(m=120, d=6)
    chunks = Chunks([lambda: (X, y)])
    with pytest.raises(ValueError, match="tol of .* must be None.* Got 0.1"):
        margins.get("perceptron")(tol=0.1).fit(chunks)
