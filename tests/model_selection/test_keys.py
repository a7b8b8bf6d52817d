"""A cached result is found only for the data, the code and the versions that computed it."""

import functools
import importlib
import runpy
import shutil
import sys
import threading
import types
from pathlib import Path

import numpy as np
import pytest
import sklearn
from other_process import printed_by
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import margins
from margins.model_selection import keys, parameter_search
from margins.model_selection.keys import code_of, digest

X = np.arange(24.0).reshape(12, 2)
y = np.array([0, 1] * 6)
MODULE = "users_code"


def search(folder, scorer, estimator=None, **options):
    options = {"cv": 3, "random_state": 0, "progress": False} | options
    estimator = estimator or RidgeClassifier()
    return parameter_search(estimator, {}, X, y, scoring=scorer, cache=folder, **options)


@pytest.fixture(autouse=True)
def local_files(tmp_path, monkeypatch):
    """Let keys depend on files in the folder of the test alone."""
    is_local, folder = keys._is_local, str(tmp_path)
    monkeypatch.setattr(keys, "LIBRARY", tmp_path / "margins")
    monkeypatch.setattr(keys, "_is_local", lambda path: str(path).startswith(folder) and is_local(path))


@pytest.fixture
def users_folder(tmp_path, monkeypatch):
    """A folder that modules named `users_...` are imported from, written before the process started."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(keys, "STARTED", keys.time.time() + 1000)
    yield tmp_path
    forget()


def forget():
    """Forget the modules of a user, as another process has not loaded them."""
    importlib.invalidate_caches()
    for name in [each for each in sys.modules if each.startswith("users_")]:
        del sys.modules[name]


USES = {
    "function": "TABLE = [VALUE]\ndef scorer(*_): return TABLE[0]",
    "lambda": "scorer = lambda *_: VALUE",
    "closure": "def made(value): return lambda *_: value\nscorer = made(VALUE)",
    "module": "import users_helpers\ndef scorer(*_): return users_helpers.value()",
    "module within": "def scorer(*_):\n    import users_helpers\n    return users_helpers.value()",
    "package": "import users_package.inner\ndef scorer(*_): return users_package.inner.value()",
    "relative": "from users_package import scorer",
    "in a line": "def scorer(*_):\n    if 1: import users_helpers\n    return users_helpers.value()",
    "import of an import": "def scorer(*_):\n    import users_outer\n    return users_outer.value()",
}


@pytest.mark.parametrize("use", USES)
def test_edited_modules_are_run_and_unedited_ones_are_not(use, users_folder, calls):
    (users_folder / "users_package").mkdir()
    (users_folder / "users_package" / "__init__.py").write_text(
        "def scorer(*_):\n    from .inner import value\n    return value()"
    )
    (users_folder / "users_outer.py").write_text("from users_helpers import value")
    for value, n_calls in ((1.0, 3), (2.0, 6), (1.0, 6)):
        for name in ("users_helpers.py", "users_package/inner.py"):
            (users_folder / name).write_text(f"TABLE = [{value}]\ndef value():\n    return TABLE[0]\n")
        (users_folder / f"{MODULE}.py").write_text(USES[use].replace("VALUE", str(value)))
        forget()
        assert search(users_folder / "cache", importlib.import_module(MODULE).scorer).mean() == value
        assert len(calls) == n_calls


def test_a_module_that_was_changed_after_it_was_loaded_finds_nothing(users_folder, calls, monkeypatch):
    (users_folder / f"{MODULE}.py").write_text("def scorer(*_): return 1.0")
    scorer = importlib.import_module(MODULE).scorer
    monkeypatch.setattr(keys, "STARTED", keys.time.time() - 0.5)
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match=rf"{MODULE}.py was changed after this process started"):
            search(users_folder / "cache", scorer)
    search(users_folder / "cache", scorer, cache_key="1")
    assert len(calls) == 9


VARIABLES = {
    "global of a lambda": "LEVEL = None\nscorer = lambda *_: LEVEL",
    "global": "LEVEL = None\ndef scorer(*_): return LEVEL",
    "of a function within": "LEVEL = None\ndef level(): return LEVEL\ndef scorer(*_): return level()",
    "of a module": "import users_levels\ndef scorer(*_): return users_levels.LEVEL",
    "of a class": "class Levels:\n    LEVEL = None\ndef scorer(*_): return Levels.LEVEL",
}


@pytest.mark.parametrize("kind", VARIABLES)
def test_variables_that_are_set_at_run_time_count(kind, users_folder, calls):
    (users_folder / "users_levels.py").write_text("LEVEL = None")
    (users_folder / f"{MODULE}.py").write_text(VARIABLES[kind])
    module = importlib.import_module(MODULE)
    owner = {"of a module": "users_levels", "of a class": "Levels"}.get(kind)
    for value, n_calls in ((1.0, 3), (2.0, 6), (1.0, 6)):
        (module if owner is None else getattr(module, owner)).LEVEL = value
        assert search(users_folder / "cache", module.scorer).mean() == value
        assert len(calls) == n_calls


@pytest.mark.parametrize(
    "values", [(np.zeros(2), np.ones(2)), (functools.partial(max, 1), functools.partial(max, 2))]
)
def test_attributes_of_classes_count_whatever_they_hold(values, users_folder):
    (users_folder / f"{MODULE}.py").write_text("class Levels:\n    LEVEL = None")
    levels, digests = importlib.import_module(MODULE).Levels, set()
    for levels.LEVEL in values:
        digests.add(digest(levels))
    assert len(digests) == 2


PROGRAM = """
from sklearn.linear_model import RidgeClassifier
from margins.model_selection import parameter_search

LIMIT = 1.0
def scorer(estimator, X, y):
    return LIMIT
class Own(RidgeClassifier):
    NAMES = {"a", "b", "c"}
metrics = {"one": scorer, "other": lambda *_: LIMIT}
X, y = [[0.0], [1.0], [2.0], [3.0]] * 3, list("abab") * 3
parameter_search(Own(), {}, X, y, cv=2, random_state=0, scoring=metrics, refit="one", cache=FOLDER)
"""


def test_edits_of_the_program_are_noticed(users_folder, calls):
    path = users_folder / "program.py"
    for limit, n_calls in ((1.0, 2), (1.0, 2), (0.5, 4)):
        path.write_text(PROGRAM.replace("LIMIT = 1.0", f"LIMIT = {limit}"))
        runpy.run_path(str(path), {"FOLDER": users_folder / "cache"}, "__main__")
        assert len(calls) == n_calls


def test_code_that_was_typed_is_rejected_before_any_fit(tmp_path, calls, monkeypatch):
    module = types.ModuleType(MODULE)
    monkeypatch.setitem(sys.modules, MODULE, module)
    exec(
        "class Scorer:\n    def __call__(self, *_): return 1.0\ndef scorer(*_): return 1.0", vars(module)
    )
    for scorer in (module.scorer, module.Scorer(), functools.lru_cache(module.scorer)):
        with pytest.raises(
            TypeError, match="cache of parameter_search must be None: .*or pass cache_key"
        ):
            search(tmp_path, scorer)
        assert not calls
    assert search(tmp_path, module.scorer, cache_key="1") == search(
        tmp_path, module.scorer, cache_key="1"
    )
    assert len(calls) == 3
    with pytest.raises(TypeError, match="cache_key of parameter_search must be None or a str. Got 1"):
        search(tmp_path, module.scorer, cache_key=1)
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)  # the file of `__main__` does not define it
    monkeypatch.setattr(module.scorer, "__module__", "__main__")
    with pytest.raises(TypeError, match="no file defines it"):
        search(tmp_path, module.scorer)


def test_values_without_a_key_are_rejected_before_any_fit(tmp_path, calls):
    for value in (np.frompyfunc(abs, 1, 1), threading.Lock(), (x for x in "a")):
        with pytest.raises(TypeError, match="cache of parameter_search must be None: a value must have"):
            search(tmp_path, functools.partial(max, value))
    with pytest.raises(TypeError, match="cache of parameter_search must be None: a value must have"):
        parameter_search(
            RidgeClassifier(), {"tol": [1e-3, np.frompyfunc(abs, 1, 1)]}, X, y, cache=tmp_path
        )
    assert not calls


def test_another_version_of_an_installed_package_finds_nothing(tmp_path, users_folder, calls):
    site = tmp_path / "site-packages"
    site.mkdir()
    (site / "users_plug_in.py").write_text(
        "from sklearn.linear_model import RidgeClassifier\nclass Own(RidgeClassifier): pass\n"
    )
    sys.path.insert(0, str(site))
    Own = importlib.import_module("users_plug_in").Own
    n_calls = []
    for version in ("1.0", "1.1", "1.0"):
        info = site / f"users_plug_in-{version}.dist-info"
        info.mkdir()
        search(tmp_path / "cache", "accuracy", Own())
        info.rmdir()
        n_calls.append(len(calls))
    assert n_calls == [3, 6, 6]


def test_another_configuration_of_scikit_learn_finds_nothing(tmp_path, calls):
    for transform_output in ("default", "pandas"):
        with sklearn.config_context(transform_output=transform_output):
            search(tmp_path, "accuracy")
    assert len(calls) == 6


def test_edited_files_of_this_library_are_noticed(monkeypatch):
    original, copy = Path(margins.__file__).parent, keys.LIBRARY
    shutil.copytree(original, copy, ignore=shutil.ignore_patterns("__pycache__", "*.c*"))
    compiled = next(original.glob("_update*.so"))
    shutil.copy2(compiled, copy)
    monkeypatch.setattr(keys, "STARTED", keys.time.time() + 1000)
    found = [code_of(None)]
    (copy / "_update.pyx").write_text("")
    assert code_of(None) == found[0]
    for path in (copy / "registry.py", copy / "losses" / "losses.py", copy / compiled.name):
        path.write_bytes(path.read_bytes() + b"\n")
        found.append(code_of(None))
    assert len(set(found)) == 4


class Held(ClassifierMixin, BaseEstimator):
    """Predicts by a model that is fitted already."""

    def __init__(self, model):
        self.model = model

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.model.predict(X)


def test_a_model_that_clones_keep_fitted_counts(tmp_path):
    means = []
    for labels in (y, 1 - y):
        model = FrozenEstimator(RidgeClassifier().fit(np.stack([y, y], axis=1), labels))
        study = parameter_search(
            Held(model), {}, np.stack([y, y], axis=1), y, cv=3, random_state=0, cache=tmp_path
        )
        means.append(study.mean())
    assert means == [1.0, 0.0]


def test_an_estimator_that_was_fitted_meanwhile_finds_its_study(tmp_path, calls):
    estimator = RidgeClassifier()
    one = search(tmp_path, "accuracy", estimator, random_state=None)
    estimator.fit(X, y)
    assert search(tmp_path, "accuracy", estimator, random_state=None) == one
    assert len(calls) == 3


def scaled(X, factor=2):
    return X * factor


def values():
    """Values whose hash depends neither on the process nor on how often they were used."""
    power = 2
    yield make_pipeline(FunctionTransformer(scaled), StandardScaler(), FunctionTransformer(np.log1p))
    yield from (set("abcdefg"), {"b": 1.0, "a": np.eye(2)}, functools.partial(scaled, factor=3))
    yield from (lambda X: X**power, [lambda X: X in {"a", "b"}, max])


def test_equal_values_have_equal_keys_in_every_process_and_others_do_not(monkeypatch):
    monkeypatch.undo()  # the other process knows the local files
    found = list(map(digest, values()))
    assert len(set(found)) == len(found)
    source = f"import sys; sys.path.append({str(Path(__file__).parent)!r}); import {__name__} as test"
    printed = printed_by("-c", f"{source}; print(*map(test.digest, test.values()))", PYTHONHASHSEED="5")
    assert printed.split() == found
    one, other = RidgeClassifier(), RidgeClassifier()
    other._metadata_request = 1
    assert digest(one) != digest(other)
