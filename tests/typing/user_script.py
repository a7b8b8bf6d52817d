"""A typed script, as a user writes it: `mypy --strict` finds nothing, and it runs."""

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import margins
from margins import bounds
from margins.algorithms.mpu import UnlearningMarginPerceptron
from margins.algorithms.pa import PassiveAggressiveClassifier
from margins.algorithms.perceptron import Perceptron
from margins.certificate import Certificate
from margins.data.chunks import Chunks
from margins.datasets import make_noisy_halfspace
from margins.model_selection import (
    Stages,
    Study,
    compare,
    double_cross_validation,
    online_to_pac,
    parameter_search,
)
from margins.model_selection.pac import PacHypothesis


def classes(X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
    """Constructors, fits and what they leave."""
    clf = UnlearningMarginPerceptron(C=1, loss="hinge", eps=0.1, random_state=np.random.RandomState(0))
    assert_type(clf.C, float)
    assert_type(clf.fit(X, y), UnlearningMarginPerceptron)
    assert_type(clf.coef_, NDArray[np.float64])
    assert_type(clf.certificates_, list[Certificate])
    assert_type(clf.certificates_[0].gap, float)
    assert_type(clf.converged_, bool)
    assert_type(clf.n_updates_, int)
    assert_type(clf.learning_curve_[0][-1].updates, int)
    assert_type(clf.decision_function(X), NDArray[np.float64])
    assert_type(clf.predict(X), NDArray[Any])
    assert_type(clf.score(X, y), float)
    assert_type(clf.set_params(C=2.0).get_params(), dict[str, Any])
    assert_type(clf.fit(Chunks.of_rows(X, y)), UnlearningMarginPerceptron)
    clf.fit(X.tolist(), y.tolist(), sample_weight=np.ones(len(y)))

    weighted = Perceptron(class_weight={-1: 2.0, 1: 1}, intercept_scaling=None, kernel=kernel, verbose=0)
    weighted.fit(X, y)
    Perceptron(class_weight="balanced", kernel="rbf", gamma=0.5, n_jobs=2).fit(X, y)

    stream = PassiveAggressiveClassifier(averaging="averaged")
    assert_type(stream.partial_fit(X, y, classes=[-1, 1]), PassiveAggressiveClassifier)


def kernel(X: Any, Y: Any) -> NDArray[np.float64]:
    """A kernel of a user's own."""
    products: NDArray[np.float64] = X @ Y.T
    return products


def names(X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
    """The registry: a literal name is as good as the class, any other has what all have."""
    assert_type(margins.available(), list[str])
    assert_type(margins.get("mpu"), type[UnlearningMarginPerceptron])
    assert_type(margins.get("perceptron")(eta=0.5).fit(X, y), Perceptron)
    for name in ["pdm", "dcd"]:
        clf = margins.get(name)(C=1, eps=0.1).fit(X, y)
        assert_type(clf.certificates_[0].fraction, float)
        assert_type(clf.decision_function(X), NDArray[np.float64])


def studies(X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
    """Model selection."""
    pam = margins.get("pam")(max_iter=2)
    grid = {"tau": [0, 0.5]}
    study = parameter_search(
        pam, grid, X, y, cv=2, scoring=["accuracy", "f1"], refit="f1", random_state=0
    )
    assert_type(study, Study)
    assert_type(study.best_params, dict[str, Any])
    assert_type(study.interval().low, float)
    assert_type(study.tables[0].mean_scores(), NDArray[np.float64])
    stages = Stages(grid, {"alpha_bound": [5, 10]})
    nested = [double_cross_validation(pam, stages, X, y, outer=2, inner=2, random_state=0) for _ in "ab"]
    assert_type(compare(nested).differences[0].mean, float)
    hypothesis = online_to_pac(zip(X, y, strict=True), epsilon=0.5, delta=0.5, mistake_bound=1000)
    assert_type(hypothesis, PacHypothesis)
    assert_type(hypothesis.survived, bool)


def main() -> None:
    X, y = make_noisy_halfspace(3, margin=0.5, n_samples=60, random_state=0)
    assert_type(X, NDArray[np.float64])
    assert_type(bounds.perceptron_updates(R=2.0, gamma=0.1), float)
    classes(X, y)
    names(X, y)
    studies(X, y)
    paths(X, y)


def paths(X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
    """Paths along C, and the selection of one."""
    path = margins.svm_path(X, y, [0.1, 1.0], loss="hinge")
    assert_type(path.coefs, NDArray[np.float64])
    assert_type(path.certificates, list[list[Certificate]])
    search = margins.MarginClassifierCV(Cs=2, cv=2, scoring="balanced_accuracy").fit(X, y)
    assert_type(search.C_, float)
    assert_type(search.scores_, NDArray[np.float64])


if __name__ == "__main__":
    main()
