"""The benchmarks of asv run: each once, on data of a few samples."""

import importlib
import inspect
import itertools
import json
import math
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "benchmarks"
FILES = sorted(path.stem for path in FOLDER.glob("[!_]*.py") if path.stem != "data")
METHODS = ("time_", "peakmem_", "track_", "mem_")

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def module_of(monkeypatch):
    """``module_of(name)`` imports a file of benchmarks, for data of a fiftieth of the size."""
    monkeypatch.setenv("MARGINS_BENCHMARK_SCALE", "0.02")
    monkeypatch.syspath_prepend(str(ROOT))
    before = {name for name in sys.modules if name.split(".")[0] == "benchmarks"}
    assert not before
    yield lambda name: importlib.import_module(f"benchmarks.{name}")
    for name in [name for name in sys.modules if name.split(".")[0] == "benchmarks"]:
        del sys.modules[name]


@pytest.mark.parametrize("name", FILES)
def test_every_benchmark_of_a_file_runs(module_of, name):
    module = module_of(name)
    n_run = 0
    for suite in vars(module).values():
        if not inspect.isclass(suite) or suite.__module__ != module.__name__:
            continue
        for values in itertools.product(*getattr(suite, "params", ())):
            benchmark = suite()
            getattr(benchmark, "setup", lambda *_: None)(*values)
            for method in [each for each in dir(suite) if each.startswith(METHODS)]:
                result = getattr(benchmark, method)(*values)
                assert not method.startswith("track_") or math.isfinite(result)
                n_run += 1
    assert n_run > 0


def test_the_configuration_leads_to_the_benchmarks():
    settings = json.loads((FOLDER / "asv.conf.json").read_text(encoding="utf-8"))
    assert (FOLDER / settings["repo"] / "pyproject.toml").is_file()
    assert (FOLDER / settings["benchmark_dir"]).resolve() == FOLDER and len(FILES) >= 4
