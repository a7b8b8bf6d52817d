"""Checks that fits are repeatable: copies, seeds, threads and earlier fits do not change them."""

import pickle

import numpy as np
from sklearn.base import clone

from margins.testing.algorithms.fits import (
    check,
    difference,
    make,
    require_same_fit,
    scores_of,
    state_of,
)
from margins.testing.reports import require
from margins.testing.truth import clouds


@check
def check_pickle(algorithm, params):
    """A classifier is the same after pickling."""
    X, y = clouds(n_classes=3)
    classifier = make(algorithm, params, random_state=0, max_iter=20).fit(X, y)
    again = pickle.loads(pickle.dumps(classifier))
    changed = difference(classifier.get_params(deep=False), again.get_params(deep=False))
    require(not changed, f"other parameters after pickling: {changed}", "the same")
    require_same_fit(again, classifier, "after pickling")
    changed = difference(scores_of(again, X), scores_of(classifier, X))
    require(not changed, f"other scores after pickling: {changed}", "the same")


@check
def check_clone(algorithm, params):
    """A clone is untrained, and training it gives the same classifier."""
    X, y = clouds()
    classifier = make(algorithm, params, random_state=5, max_iter=20).fit(X, y)
    again = clone(classifier)
    require(not state_of(again), f"a clone that has {sorted(state_of(again))}", "an untrained one")
    changed = difference(classifier.get_params(deep=False), again.get_params(deep=False))
    require(not changed, f"other parameters of the clone: {changed}", "the same")
    require_same_fit(again.fit(X, y), classifier, "a clone, trained")


@check
def check_random_state(algorithm, params):
    """The same seed gives the same fit, and NumPy's global generator is not used."""
    X, y = clouds(n_classes=3)
    before = np.random.get_state()  # noqa: NPY002
    first = make(algorithm, params, random_state=7, max_iter=20).fit(X, y)
    second = make(algorithm, params, random_state=7, max_iter=20).fit(X, y)
    require_same_fit(first, second, "random_state=7 twice")
    changed = difference(before, np.random.get_state())  # noqa: NPY002
    require(not changed, "a change of NumPy's global random state", "a separate generator")


@check
def check_n_jobs(algorithm, params):
    """The number of threads does not change a bit of the result."""
    X, y = clouds(n_classes=4)
    one, two = (
        make(algorithm, params, n_jobs=n_jobs, random_state=3, max_iter=20).fit(X, y)
        for n_jobs in (1, 2)
    )
    require_same_fit(one, two, "n_jobs=1 and n_jobs=2")


@check
def check_refit_forgets(algorithm, params):
    """A second fit, to data of a different size, equals a first fit to these data."""
    X, y = clouds(n_classes=3)
    again = make(algorithm, params, random_state=0, max_iter=8).fit(X, y)
    if hasattr(again, "partial_fit"):
        again.partial_fit(X, y)
    two = y < 2
    again.fit(X[two, :2], y[two])
    fresh = make(algorithm, params, random_state=0, max_iter=8).fit(X[two, :2], y[two])
    require_same_fit(again, fresh, "a second fit and a first one")
