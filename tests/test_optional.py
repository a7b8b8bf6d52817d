"""Functions that need a package that is not installed say so, and how to install it, before any work."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import margins
from margins import callbacks, interchange, model_selection, persistence, plotting
from margins.cli.app import main
from margins.data.chunks import Chunks
from margins.optional import MissingPackage, require

X, y = np.array([[1.0, 2.0], [2.0, 1.0], [-1.0, -1.0], [-2.0, 0.0]] * 2), [1, 1, 0, 0] * 2


@pytest.fixture(scope="module")
def study():
    return model_selection.parameter_search(margins.MarginClassifier(), {}, X, y, cv=2)


@pytest.fixture(scope="module")
def comparison(study):
    return model_selection.compare({"one": study, "other": study})


@pytest.fixture(scope="module")
def ranking(study):
    return model_selection.rank({name: {"one": study, "other": study} for name in "ab"})


@pytest.fixture(scope="module")
def results(study, comparison, ranking):
    """The objects with `to_frame`, `to_latex` and `to_markdown`."""
    return {"study": study, "comparison": comparison, "ranking": ranking}


NO_FILE = "there is no such file"
SUBMODULES = {"matplotlib": ["matplotlib.pyplot"], "skops": ["skops.io"], "tqdm": ["tqdm.auto"]}
PREFIX = {"to_frame": [], "to_latex": ["jinja2"], "to_markdown": ["tabulate"]}
# {what needs packages: (they, a call whose other arguments are wrong, if any are)}
CALLS = {
    "Chunks.from_csv": (["pandas", "pyarrow"], lambda: Chunks.from_csv(NO_FILE, "y")),
    "Chunks.from_parquet": (["pandas", "pyarrow"], lambda: Chunks.from_parquet(NO_FILE, "y")),
    "persistence.dump": (["skops"], lambda: persistence.dump(None, NO_FILE)),
    "persistence.load": (["skops"], lambda: persistence.load(NO_FILE)),
    "to_onnx": (["skl2onnx"], lambda: interchange.to_onnx(None)),
    "onnx_difference": (["onnx"], lambda: interchange.onnx_difference(None, None, [[0.0]])),
    "register_converters": (["skl2onnx"], interchange.register_converters),
    "plot of EpochsDisplay": (
        ["matplotlib"],
        lambda: plotting.EpochsDisplay.from_estimator(margins.MarginClassifier().fit(X, y)),
    ),
    "ProgressBar": (["tqdm"], lambda: callbacks.ProgressBar().setup(None, None)),
    "progress=True": (
        ["tqdm"],
        lambda: model_selection.parameter_search(
            margins.MarginClassifier(), {}, X, y, cv=2, progress=True
        ),
    ),
}
COMMANDS = {
    "margins train": (["skops"], ["train", NO_FILE, "m.skops"]),
    "no.skops: reading a model file": (["skops"], ["predict", "no.skops", NO_FILE, "predictions"]),
    "margins export": (["skl2onnx", "skops"], ["export", NO_FILE, "model.onnx"]),
    "margins compare --json": (["pandas"], ["compare", NO_FILE, "pdm", "mpu", "--json"]),
    "table.csv: reading it": (["pandas", "pyarrow"], ["explain", "table.csv"]),
    "table.parquet: reading it": (["pandas", "pyarrow"], ["evaluate", NO_FILE, "table.parquet"]),
}


def is_named(error, user, package):
    return f"{user} needs {package}, which is not installed: pip install {package}" in str(error)


def cases(calls):
    return [(user, package) for user, (packages, _) in calls.items() for package in packages]


@pytest.mark.parametrize(("user", "package"), cases(CALLS))
def test_a_function_names_the_package_that_is_missing_before_any_work(user, package, monkeypatch):
    for module in (package, *SUBMODULES.get(package, ())):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingPackage) as error:
        CALLS[user][1]()
    assert is_named(error.value, user, package), error.value


@pytest.mark.parametrize("name", ["study", "comparison", "ranking"])
@pytest.mark.parametrize("method", ["to_frame", "to_latex", "to_markdown"])
def test_tables_name_the_method_that_was_called(name, method, results, monkeypatch):
    for package in ["pandas", *PREFIX[method]]:
        with monkeypatch.context() as patched:
            patched.setitem(sys.modules, package, None)
            with pytest.raises(MissingPackage) as error:
                getattr(results[name], method)()
            assert is_named(error.value, method, package), error.value


@pytest.mark.parametrize(("user", "package"), cases(COMMANDS))
def test_a_command_names_the_package_before_it_reads_a_file(
    user, package, monkeypatch, capsys, tmp_path
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, package, None)
    assert main(COMMANDS[user][1]) == 2
    assert is_named(capsys.readouterr().err, user, package)
    assert list(tmp_path.iterdir()) == []


def test_every_use_of_an_optional_package_is_tested():
    calls = re.compile(r"\brequire\(\s*f?\"([^\"]+)\"")
    users = set()
    for path in Path(margins.__path__[0]).rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        users |= set(calls.findall(text)) if "from margins.optional import" in text else set()
    tested = " ".join([*CALLS, *COMMANDS, *PREFIX])
    assert users
    assert [user for user in users if user.partition("{")[0].strip() not in tested] == []


def test_several_missing_packages_are_named_at_once_and_a_broken_one_as_it_is(monkeypatch, tmp_path):
    with pytest.raises(MissingPackage) as error:
        require("this", "json", "no_such_a", "no_such_b.c")
    assert str(error.value).endswith(
        "needs no_such_a and no_such_b, which are not installed: pip install no_such_a no_such_b"
    )
    (tmp_path / "broken_package.py").write_text("raise ImportError('its library is missing')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match="its library is missing") as broken:
        require("this", "broken_package")
    assert not isinstance(broken.value, MissingPackage)
