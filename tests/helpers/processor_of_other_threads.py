"""Print how much processor time other threads take during fits and the like, as a share of this one's.

Threads of BLAS wait for work busily, so even products that are too small to share show.
"""

import time
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import margins
from margins.data.chunks import Chunks

warnings.simplefilter("ignore")
X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
digits, labels = load_digits(return_X_y=True)
generator = np.random.default_rng(0)
wide = generator.standard_normal((100, 5000))
long = generator.standard_normal((10000, 100))
of_wide, of_long = wide[:, 0] > 0, long[:, 0] + generator.standard_normal(10000) > 0
gram = np.exp(-((X[:200, None] - X[:200]) ** 2).sum(axis=-1) / 30)


def laplacian(A, B):
    return np.exp(-np.abs(A[:, None] - B).sum(axis=-1) / 9)


def fit(X, y, name="auto", **parameters):
    return margins.get(name)(random_state=0, **parameters).fit(X, y)


rbf = fit(digits / 16, labels, kernel="rbf", loss="hinge", multi_class="ovo")
svc = SVC().fit(X, y)
WORK = {
    "linear": lambda: [fit(X, y), fit(X, y, loss="hinge", eps=1e-5, penalize_intercept=False)],
    "wide": lambda: [fit(wide, of_wide), fit(wide, of_wide, penalize_intercept=False)],
    "hard margin": lambda: fit(wide, of_wide, C=np.inf),
    "long": lambda: [fit(long, of_long), fit(long, of_long, loss="hinge", penalize_intercept=False)],
    "rbf": lambda: [fit(X, y, kernel="rbf"), fit(X, y, kernel="rbf", loss="hinge", eps=1e-5)],
    "sigmoid": lambda: fit(X, y, kernel="sigmoid", gamma=0.01),
    "precomputed": lambda: [fit(gram, y[:200], kernel="precomputed", C=C) for C in (1, 100)],
    "callable": lambda: fit(X[:200], y[:200], kernel=laplacian),
    "pdm": lambda: fit(X, y, "pdm"),
    "mpu": lambda: fit(long, of_long, "mpu", max_iter=20),
    "chunks": lambda: fit(Chunks.of_rows(long, of_long, None), None, loss="hinge", eps=1e-4),
    "predictions": lambda: [rbf.predict(digits / 16), fit(long, of_long).predict(long)],
    "path": lambda: margins.svm_path(X[:300], y[:300], kernel="rbf", loss="hinge"),
    "folds": lambda: margins.MarginClassifierCV(Cs=3, calibration="sigmoid").fit(X, y),
    "leave-one-out": lambda: margins.leave_one_out(
        margins.MarginClassifier(kernel="rbf", loss="hinge"), X[:200], y[:200]
    ),
    "certificates": lambda: margins.certify(svc, X, y).n_different,
}

for name, work in WORK.items():
    work()
    time.sleep(0.05)  # until threads that an earlier step has woken sleep again
    all_before, own_before = time.process_time(), time.thread_time()
    while time.thread_time() < own_before + 0.1:
        work()
    own = time.thread_time() - own_before
    print(f"{name}: {(time.process_time() - all_before - own) / own:.2f}")
