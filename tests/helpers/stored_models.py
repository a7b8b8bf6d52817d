"""Write what later versions must read, in tests/persistence/models: run once a version.

Each model is stored as a model file and as a pickle, and a study as JSON.

python tests/helpers/stored_models.py
"""

import json
import pickle
from pathlib import Path

import numpy as np

import margins
from margins.model_selection import double_cross_validation
from margins.persistence import dump

FOLDER = Path(__file__).parents[1] / "persistence" / "models"
MODELS = {
    "linear": ("mpu", {"C": 1.0}),
    "kernel": ("pdm", {"kernel": "rbf", "gamma": 0.5}),
    "votes": ("voted-perceptron", {"kernel": "poly", "degree": 2, "gamma": 1.0, "max_iter": 3}),
    "classes": ("auto", {"loss": "hinge", "eps": 0.1}),
}


def data(n_classes):
    """Integers: every version rounds their products alike."""
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, (30, 4)).astype(float)
    return X, (X @ [1.0, 2.0, -1.0, 0.5] > 0).astype(int) if n_classes == 2 else np.arange(
        30
    ) % n_classes


def main():
    FOLDER.mkdir(exist_ok=True)
    for kind, (name, params) in MODELS.items():
        X, y = data(3 if kind == "classes" else 2)
        classifier = margins.get(name)(random_state=0, **params).fit(X, y)
        stem = f"{kind}-{margins.__version__}"
        dump(classifier, FOLDER / f"{stem}.skops")
        (FOLDER / f"{stem}.pickle").write_bytes(pickle.dumps(classifier, protocol=4))
        expected = {
            "name": name,
            "params": params,
            "scores": classifier.decision_function(X).tolist(),
            "primal": [certificate.primal for certificate in classifier.certificates_],
        }
        (FOLDER / f"{stem}.json").write_text(json.dumps(expected) + "\n", encoding="utf-8")
    (FOLDER / f"study-{margins.__version__}.study").write_text(study().to_json(), encoding="utf-8")


def study():
    """A small study, with paths along C, weights and two metrics."""
    X, y = data(2)
    return double_cross_validation(
        margins.MarginClassifier(eps=1e-3), {"C": [0.1, 1.0]}, X, y, sample_weight=np.arange(30) % 3 + 1,
        outer=3, inner=2, scoring=["accuracy", "balanced_accuracy"], refit="accuracy", random_state=0,
    )  # fmt: skip


if __name__ == "__main__":
    main()
