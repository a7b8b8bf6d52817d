"""`explain` prints the plan that `train` makes: the same estimator, parameters and samples."""

import numpy as np
import pytest
from cli.conftest import samples, write_svmlight

from margins.estimators.algorithm import PlannedAlgorithm

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def write_csv(path, X, y):
    names = [f"x{j}" for j in range(X.shape[1])]
    rows = [",".join(map(repr, row.tolist())) + f",{label}" for row, label in zip(X, y, strict=True)]
    path.write_text("\n".join([",".join([*names, "label"]), *rows]) + "\n")


def wide():
    generator = np.random.default_rng(0)
    X = np.round(generator.normal(size=(300, 80)), 2) * (generator.random((300, 80)) < 0.2)
    return X, np.where(X[:, :9].sum(axis=1) > 0.3 * generator.normal(size=300), 1, -1)


FILES = {
    "small.svm": (write_svmlight, samples, ()),
    "wide.svm": (write_svmlight, wide, ()),
    "three.svm": (write_svmlight, lambda: samples(n_classes=3), ()),
    "small.csv": (write_csv, samples, ("--target", "label")),
    "wide.csv": (write_csv, wide, ("--target", "label")),
    "categories.csv": (write_csv, samples, ("--target", "label", "--categorical", "x1")),
}
OPTIONS = ("--loss hinge", "--kernel rbf", "--scale -C 100", "--eps 1e-6", "-p solver=dcd", "-C inf")
PAIRS = [
    *((name, "") for name in FILES),
    *zip(FILES, OPTIONS, strict=True),
    *zip(FILES, OPTIONS[::-1], strict=True),
]


@pytest.mark.parametrize(("name", "options"), PAIRS)
def test_train_makes_the_plan_that_explain_prints(run, tmp_path, monkeypatch, name, options):
    write, make, of_table = FILES[name]
    write(tmp_path / name, *make())
    plan, plans = PlannedAlgorithm.plan, []

    def recording(self, *args, **kwargs):
        plans.append(plan(self, *args, **kwargs))
        return plans[-1]

    monkeypatch.setattr(PlannedAlgorithm, "plan", recording)
    arguments = (tmp_path / name, "--json", *of_table, *options.split())
    explained = run("explain", *arguments).json
    assert "candidates" in run("explain", tmp_path / name, *arguments[2:]).out
    plans.clear()
    model = "m.skops" if of_table or "--scale" in options else "m"
    report = run("train", *arguments[:1], tmp_path / model, *arguments[1:]).json
    if not plans:  # so few samples that their problem needs no run
        assert "--kernel" in options or name in ("small.csv", "three.svm")
    else:
        assert [str(phase) for phase in plans[0].phases] == explained["phases"]
        assert plans[0].reason == explained["reason"]
    assert report["n_samples"] == explained["n_samples"]
    assert report["parameters"].get("eps", 0.01) == explained["eps"]
    for path in report["solver"].split(", "):  # those of several classes, if they differ
        phases, ran = iter(explained["solver"].split(" + ")), path.split(" + ")
        assert ran[0] == explained["phases"][0].split(":")[0] and all(solver in phases for solver in ran)
    if report["converged"]:
        bound = explained["required_gap"]
        least = 1 - explained["eps"]
        proofs = report["certificates"]
        assert all(proof["gap"] <= bound or proof["fraction"] >= least for proof in proofs)
