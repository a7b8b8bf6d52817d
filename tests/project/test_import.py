"""What `import margins` and the first calls load, and the time that the import takes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHARED = "margins._memoryview"  # a module that Cython makes without a source

# One after the other in one process, since each start of one takes seconds.
STATEMENTS = {
    "import": "import margins",
    "names": "margins.available()",
    "one algorithm": "margins.get('perceptron')",
    "fits": """
import numpy as np
from margins.data.chunks import Chunks
X = np.random.default_rng(0).normal(size=(50, 3))
y = X[:, 0] > 0
margins.MarginClassifier().fit(X, y)
margins.MarginClassifier().fit(Chunks([(X, y), (X, y)])).predict(X)
""",
    "studies": "import margins.model_selection",
    "plots": "import margins.plotting",
}

# Prints the compiled modules, and whether built-in types have the names and values that they had before.
COMPILED = """
import importlib, json, pkgutil
from importlib.machinery import EXTENSION_SUFFIXES

KINDS = (object, type, BaseException, Exception)

def members():
    return [[(type(name).__name__, name, id(value)) for name, value in vars(kind).items()]
            for kind in KINDS]

before = members()
import margins
names = [module.name for module in pkgutil.walk_packages(margins.__path__, "margins.")]
modules = [importlib.import_module(name) for name in names if name != "margins.__main__"]
compiled = [module.__name__ for module in modules if module.__file__.endswith(tuple(EXTENSION_SUFFIXES))]
print(json.dumps([compiled, members() == before]))
"""

# Touches each public module in a process that has imported nothing of the package but `margins`.
FRESH = """
import json, os, sys
import pytest, scipy.stats, sklearn.calibration, sklearn.compose, sklearn.svm  # longer than margins
missing = []
for name in json.load(sys.stdin):
    if os.fork() == 0:
        import margins
        value = margins
        for part in name.split(".")[1:]:
            assert part in dir(value), (part, value)
            value = getattr(value, part)
        os._exit(value.__name__ != name)
    missing += [name] if os.wait()[1] else []
print(json.dumps(missing))
"""


@pytest.fixture(scope="module")
def loaded():
    """The modules that a process has after each of the statements."""
    code = ["import json, sys", "found = {}"]
    for name, statements in STATEMENTS.items():
        code += [statements, f"found[{name!r}] = list(sys.modules)"]
    code.append("print(json.dumps(found))")
    output = subprocess.check_output([sys.executable, "-c", "\n".join(code)], text=True)
    return {name: set(modules) for name, modules in json.loads(output).items()}


def own(modules):
    return {name for name in modules if name.partition(".")[0] == "margins"}


def test_importing_margins_and_listing_names_loads_no_more_than_that_takes(loaded):
    assert own(loaded["import"]) == {"margins", "margins._version", "margins.registry"}
    for modules in (loaded["import"], loaded["names"]):
        assert not {"sklearn", "scipy", "numpy", "joblib", "margins.estimators.base"} & modules


def test_getting_one_algorithm_loads_no_other(loaded):
    algorithms = [name for name in loaded["one algorithm"] if name.startswith("margins.algorithms.")]
    assert algorithms == ["margins.algorithms.perceptron"]


def test_dask_is_loaded_by_its_collections_alone(loaded):
    assert "margins.partitions.fit" in loaded["fits"]
    assert not {"dask", "distributed"} & loaded["fits"]


def test_matplotlib_is_loaded_by_plots_alone(loaded):
    assert "margins.plotting" not in loaded["studies"]
    assert "margins.plotting" in loaded["plots"] and "matplotlib" not in loaded["plots"]


def test_compiled_modules_leave_built_in_types_as_they_were():
    output = subprocess.check_output([sys.executable, "-c", COMPILED], text=True)
    compiled, is_same = json.loads(output)
    sources = [path.relative_to(ROOT).with_suffix("") for path in (ROOT / "margins").rglob("*.pyx")]
    assert {*compiled} == {SHARED, *(".".join(source.parts) for source in sources)}
    assert is_same


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_every_module_with_public_names_is_there_after_import_margins():
    names = {line.rpartition(".")[0] for line in (ROOT / "docs/public_api.txt").read_text().split()}
    names -= {"margins"}
    command = [sys.executable, "-c", FRESH]
    output = subprocess.check_output(command, input=json.dumps(sorted(names)), text=True)
    assert len(names) >= 20 and json.loads(output) == []
