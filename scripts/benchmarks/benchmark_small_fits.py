"""Many small linear fits, as in searchlights and sliding windows: processor seconds in one run.

    python scripts/benchmarks/benchmark_small_fits.py [--fields] [--repeats 20]

`MarginClassifier` with LinearSVC's and with SVC's problem against both, on noise with a weak signal:
`fit` and `predict` alone, then within a cross-validation of scikit-learn with a scaler and, with
`--fields`, within mne's SlidingEstimator and nilearn's SearchLight, which must be installed. Sides
alternate, and the least seconds of each count. `nothing` is a classifier whose fit does nothing: what
all sides pay.
"""

import functools
import itertools
import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import margins

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # modules that all folders share

import reporting

TITLES = ("", "nothing", "LinearSVC", "ours", "ratio", "SVC", "ours", "ratio")
SIZES = (100, 27), (200, 60)


class Nothing(ClassifierMixin, BaseEstimator):
    """Classifier by a constant weight vector."""

    def fit(self, X, y):
        self.classes_, self.coef_ = np.unique(y), np.ones(X.shape[1])
        return self

    def decision_function(self, X):
        return X @ self.coef_

    def predict(self, X):
        return self.classes_[(self.decision_function(X) > 0).astype(int)]


SIDES = (
    Nothing(),
    LinearSVC(),
    margins.MarginClassifier(),
    SVC(kernel="linear"),
    margins.MarginClassifier(loss="hinge", penalize_intercept=False),
)


def data_of(m, d):
    """Return samples of two classes, a fifth of whose features have a signal, and labels."""
    y = np.arange(m) % 2
    X = np.random.default_rng(0).standard_normal((m, d))
    X[y == 1, : d // 5] += 0.4
    return X, y


def alone(X, y, classifier):
    """Fit and predict, 20 times in a row."""
    for _ in range(20):
        classifier.fit(X, y).predict(X)


def in_pipeline(X, y, classifier):
    """Cross-validate a pipeline with a scaler."""
    cross_val_score(make_pipeline(StandardScaler(), classifier), X, y, cv=5, scoring="roc_auc")


def in_windows(X, y, classifier):
    """Cross-validate mne's estimator of 20 points of time."""
    from mne.decoding import SlidingEstimator, cross_val_multiscore

    pipeline = make_pipeline(StandardScaler(), classifier)
    sliding = SlidingEstimator(pipeline, scoring="roc_auc", verbose="ERROR")
    cross_val_multiscore(sliding, np.repeat(X[:, :, None], 20, axis=2), y, cv=5, verbose="ERROR")


def in_searchlight(X, y, classifier):
    """Run nilearn's searchlight over a cube of 125 voxels."""
    from nibabel import Nifti1Image
    from nilearn.decoding import SearchLight

    cube, affine = (5, 5, 5), 3 * np.eye(4)
    values = np.resize(X, (*cube, len(X))).astype(np.float32)
    mask = Nifti1Image(np.ones(cube, np.int8), affine)
    SearchLight(mask, radius=6, estimator=classifier, cv=5).fit(Nifti1Image(values, affine), y)


def main(arguments=None):
    """Print a table of milliseconds and ratios, and return the ratios: dict of tuples of float."""
    parser = reporting.parser_of(__doc__)
    parser.add_argument("--fields", action="store_true", help="with mne and nilearn")
    parser.add_argument("--repeats", type=int, default=20, metavar="N")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    places = [alone, in_pipeline, *([in_windows, in_searchlight] if options.fields else [])]
    ratios, rows = {}, []
    for (m, d), place in itertools.product(SIZES, places):
        X, y = data_of(m, d)
        seconds = reporting.alternating(SIDES, functools.partial(place, X, y), options.repeats + 1)
        nothing, *pairs = 1e3 * np.array(seconds)
        name = f"{m} x {d}, {place.__name__.replace('_', ' ')}"
        ratios[name] = pairs[1] / pairs[0], pairs[3] / pairs[2]
        cells = [
            [f"{pairs[i]:.2f}", f"{pairs[i + 1]:.2f}", f"{pairs[i + 1] / pairs[i]:.2f}"] for i in (0, 2)
        ]
        rows.append([name, f"{nothing:.2f}", *cells[0], *cells[1]])
    print(reporting.table(TITLES, rows))
    return ratios


if __name__ == "__main__":
    reporting.in_both_environments(main)
