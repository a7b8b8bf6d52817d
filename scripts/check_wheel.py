"""Does an installed wheel work? One fit of every solver, the command line, a model file.

python scripts/check_wheel.py

Run by cibuildwheel for each wheel, away from the checkout; it needs no test framework.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from sklearn.datasets import load_breast_cancer

import margins

FITS = (
    {"solver": "newton"},
    {"solver": "conjugate"},
    {"solver": "unlearning"},
    {"solver": "dcd", "loss": "hinge"},
    {"kernel": "rbf", "loss": "hinge"},
)


def main():
    X, y = load_breast_cancer(return_X_y=True)
    X = X / X.max(axis=0)
    for parameters in FITS:
        classifier = margins.MarginClassifier(eps=0.05, random_state=0, **parameters).fit(X, y)
        assert classifier.converged_, parameters
        print(f"{parameters}: gap {classifier.certificates_[0].gap:.3g}")
    for name in margins.available():
        assert margins.get(name).__doc__, name
    with tempfile.TemporaryDirectory() as folder:
        data, model = Path(folder, "data.svm"), Path(folder, "model.skops")
        lines = [
            f"{label} " + " ".join(f"{j}:{value:.6g}" for j, value in enumerate(row, 1))
            for row, label in zip(X.tolist(), y.tolist(), strict=True)
        ]
        data.write_text("\n".join(lines) + "\n")
        for arguments in (["train", data, model], ["evaluate", model, data]):
            subprocess.run([sys.executable, "-m", "margins", *map(str, arguments)], check=True)
    print(f"margins {margins.__version__} of {Path(margins.__file__).parent} works")


if __name__ == "__main__":
    main()
