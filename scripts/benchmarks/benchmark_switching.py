"""The same task in another library and in this one, each at its defaults: docs/coming_from.md's table.

Processor seconds, the least of `--turns` alternating fits, and the share of the samples that both
classify alike. Linear tasks are fits of Adult (a9a, 32,561 samples); SVC gets the satellite images
(satimage, 4,435 samples of 6 classes, standardized). LIBLINEAR's `train` and Vowpal Wabbit read the same
svmlight file as `margins train`; they are left out if `liblinear-train` or `train` is not on the path,
or the Python package `vowpalwabbit` is not installed.

    MARGINS_DATA=folder python scripts/benchmarks/benchmark_switching.py
"""

import importlib.util
import shutil
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import dump_svmlight_file
from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import margins
from margins.text import aligned

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # modules that all folders share

import benchmark_command_line
import real_data
import reporting

TITLES = ("task", "seconds there", "seconds here", "ratio", "same labels")


def tasks(m):
    """Return (title, their classifier, ours, data set) of every task in Python, for m samples."""
    as_svc = {"loss": "hinge", "penalize_intercept": False, "multi_class": "ovo"}
    alpha = 1e-4
    sgd = margins.MarginClassifier(loss="hinge", C=1 / (alpha * m))
    hinge = LinearSVC(loss="hinge"), margins.MarginClassifier(loss="hinge")
    perceptrons = Perceptron(random_state=0), margins.get("perceptron")(random_state=0, tol=1e-3)
    pa1 = SGDClassifier(penalty=None, learning_rate="pa1", eta0=1.0, random_state=0)
    pa = margins.get("pa-i")(radius=1, max_iter=1000, tol=1e-3, random_state=0)
    return [
        ("LinearSVC()", LinearSVC(), margins.MarginClassifier(), "a9a"),
        ("LinearSVC(loss='hinge')", *hinge, "a9a"),
        ("SVC()", SVC(), margins.MarginClassifier(kernel="rbf", **as_svc), "satimage"),
        ("SVC(kernel='linear')", SVC(kernel="linear"), margins.MarginClassifier(**as_svc), "satimage"),
        ("SGDClassifier()", SGDClassifier(alpha=alpha, random_state=0), sgd, "a9a"),
        ("Perceptron()", *perceptrons, "a9a"),
        ("SGDClassifier(learning_rate='pa1')", pa1, pa, "a9a"),
    ]


def compared(theirs, ours, X, y, turns):
    """Return the least seconds of both, and the share of labels that agree."""
    seconds = reporting.alternating([theirs, ours], lambda side: side.fit(X, y), turns)
    return *seconds, np.mean(theirs.predict(X) == ours.predict(X))


def command_seconds(command, turns):
    """Return the least processor seconds of a command: float."""
    return min(benchmark_command_line.seconds_of(command) for _ in range(turns))


def command_rows(X, y, turns):
    """Return rows of LIBLINEAR's `train` and of Vowpal Wabbit, which read the same samples."""
    with tempfile.TemporaryDirectory() as folder:
        file, model, lines = Path(folder, "a9a.svm"), Path(folder, "model"), Path(folder, "a9a.vw")
        dump_svmlight_file(X, y, str(file), zero_based=False)
        with lines.open("w") as out:
            for row, label in zip(X, y, strict=True):
                words = " ".join(f"{j}:{v:g}" for j, v in zip(row.indices, row.data, strict=True))
                out.write(f"{label:g} | {words}\n")
        train = [sys.executable, "-m", "margins", "train", str(file), str(model), "--force"]
        commands = {}
        if program := shutil.which("liblinear-train") or shutil.which("train"):
            options = ["-q", "-s", "2", "-c", "1", "-B", "1"]
            commands["train -s 2 -c 1 -B 1"] = [program, *options, str(file), str(model)]
        if importlib.util.find_spec("vowpalwabbit"):
            options = f"-d {lines} --loss_function hinge --quiet"
            program = f"import vowpalwabbit; vowpalwabbit.Workspace({options!r})"
            commands["vw --loss_function hinge"] = [sys.executable, "-c", program]
        ours = command_seconds(train, turns)
        return [
            [title, command_seconds(command, turns), ours, None] for title, command in commands.items()
        ]


def main(arguments=None):
    """Print the table."""
    parser = reporting.parser_of(__doc__)
    parser.add_argument("--turns", type=int, default=5, metavar="N")
    turns = parser.parse_args(arguments).turns
    warnings.simplefilter("ignore")
    adult, images = real_data.binary("a9a"), real_data.load("satimage")
    data = {"a9a": (adult.X, adult.y), "satimage": (StandardScaler().fit_transform(images.X), images.y)}
    rows = []
    for title, theirs, ours, name in tasks(len(adult.y)):
        rows.append([title, *compared(theirs, ours, *data[name], turns)])
    rows += command_rows(adult.X, adult.y, turns)
    cells = []
    for title, there, here, same in rows:
        agreement = "-" if same is None else f"{same:.3f}"
        cells.append([title, f"{there:.3f}", f"{here:.3f}", f"{here / there:.2f}", agreement])
    print(aligned([TITLES, *cells]))


if __name__ == "__main__":
    reporting.in_both_environments(main)
