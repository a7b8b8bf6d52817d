"""A cached result is found only for the code that computed it, the user's own code included."""

import itertools
import os
import subprocess
import sys
import types

import edited_code
import numpy as np
import pytest
from edited_code import MODULE, SOURCES, digests, module_of
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import RidgeClassifier

from margins.model_selection import parameter_search, running
from margins.model_selection.digests import digest

X = np.arange(24.0).reshape(12, 2)
y = np.array([0, 1] * 6)


@pytest.fixture(autouse=True)
def no_module():
    yield
    sys.modules.pop(MODULE, None)


@pytest.fixture
def calls(monkeypatch):
    """The tasks that are computed."""
    made, run = [], running.run
    monkeypatch.setattr(running, "run", lambda *task: made.append(task[2]) or run(*task))
    return made


def search(module, folder, **options):
    options = {"cv": 3, "random_state": 0, "progress": False} | options
    estimator = getattr(module, "estimator", RidgeClassifier())
    return parameter_search(estimator, {}, X, y, scoring=module.scorer, cache=folder, **options)


@pytest.mark.parametrize("name", SOURCES)
def test_edited_code_is_run_and_unedited_code_is_not(name, tmp_path, calls):
    if name == "series":
        pytest.importorskip("pandas")
    for value in (1.0, 2.0):
        assert search(module_of(name, value), tmp_path).mean() == value
    assert len(calls) == 6
    for value in (1.0, 2.0):
        assert search(module_of(name, value), tmp_path).mean() == value
    assert len(calls) == 6


def test_digests_of_code_are_the_same_in_every_process():
    names = [name for name in SOURCES if name != "series"]
    script = f"import edited_code as t; print(*t.digests({names!r}).values())"
    environment = os.environ | {
        "PYTHONPATH": os.path.dirname(edited_code.__file__),
        "PYTHONHASHSEED": "5",
    }
    answer = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert dict(zip(names, answer.stdout.split(), strict=True)) == digests(names)


def test_other_modules_of_the_user_count(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    uses = {
        "module": "import users_helpers\ndef scorer(*_): return users_helpers.value()",
        "module within": "def scorer(*_):\n    import users_helpers\n    return users_helpers.value()",
        "function": "from users_helpers import value\ndef scorer(*_): return value()",
        "function within": "def scorer(*_):\n    from users_helpers import value\n    return value()",
        "package": "import users_package.inner\ndef scorer(*_): return users_package.inner.value()",
        "relative": "from users_package import scorer",
        "alias": "import users_helpers as h\ndef scorer(*_): return (lambda: h.value())()",
        "module in a list": "import users_helpers as h\nM = [h]\ndef scorer(*_): return M[0].value()",
    }
    package = tmp_path / "users_package"
    package.mkdir()
    (package / "__init__.py").write_text(
        "def scorer(*_):\n    from .inner import value\n    return value()"
    )
    for name, source in uses.items():
        found = set()
        for value in (1.0, 2.0, 1.0):
            for path in (tmp_path / "users_helpers.py", package / "inner.py"):
                path.write_text(f"TABLE = [{value}]\ndef value():\n    return TABLE[0]\n")
            for module in [each for each in sys.modules if each.startswith("users_")]:
                del sys.modules[module]
            monkeypatch.setattr(sys, "dont_write_bytecode", True)
            module = types.ModuleType(MODULE)
            exec(source, module.__dict__)
            assert module.scorer() == value
            found.add(digest(module.scorer))
        assert len(found) == 2, name


def test_functions_that_numba_compiles_are_digested():
    numba = pytest.importorskip("numba")
    made = [
        numba.njit(**options)(function)
        for function in (lambda x: x + 1.0, lambda x: x + 2.0)
        for options in ({}, {"fastmath": True})
    ]
    assert len({digest(function) for function in made}) == 4
    assert digest(numba.njit(made[0].py_func)) == digest(made[0])


def test_a_setting_without_a_digest_is_rejected_before_any_fit(tmp_path, calls):
    with pytest.raises(TypeError, match="cache of parameter_search must be None"):
        parameter_search(
            RidgeClassifier(), {"tol": [1e-3, np.frompyfunc(abs, 1, 1)]}, X, y, cache=tmp_path
        )
    assert not calls


REFUSED = {
    "lock": "import threading\nLOCK = threading.Lock()\ndef scorer(*_):\n    with LOCK: return 1.0",
    "generator": "VALUES = iter(x for x in [1.0])\ndef scorer(*_): return next(VALUES)",
    "executed text": "def scorer(*_): return eval('1.0')",
    "names by text": "def scorer(*_): return globals()['X']",
    "ufunc": "import numpy as np\nU = np.frompyfunc(lambda x: x, 1, 1)\ndef scorer(*_): return U(1.0)",
    "attribute of a class": "class A:\n    lock = __import__('threading').Lock()\n"
    "def scorer(*_): return float(A.lock is not None)",
}


@pytest.mark.parametrize("name", REFUSED)
def test_code_without_a_digest_is_rejected_only_with_a_cache(name, tmp_path, calls):
    module = types.ModuleType(MODULE)
    sys.modules[MODULE] = module
    exec(REFUSED[name], module.__dict__)
    sentence = r"cache of parameter_search must be None .* Got .*users_code.scorer"
    with pytest.raises(TypeError, match=sentence) as error:
        search(module, tmp_path)
    assert "\n" not in str(error.value) and not calls
    search(types.SimpleNamespace(scorer=lambda *_: 1.0), None)
    assert calls


def test_error_for_code_without_a_digest_names_the_chain_of_references():
    module = types.ModuleType(MODULE)
    source = (
        "import threading\nclass Config:\n    lock = threading.Lock()\n"
        "def helper(): return Config.lock\ndef scorer(): return helper()"
    )
    exec(source, module.__dict__)
    way = r"which is lock of users_code.Config of users_code.helper of users_code.scorer\.$"
    with pytest.raises(TypeError, match=way):
        digest(module.scorer)


def test_digests_import_nothing_of_others(monkeypatch):
    monkeypatch.setitem(sys.modules, "antigravity", None)
    monkeypatch.delitem(sys.modules, "antigravity")
    module = types.ModuleType(MODULE)
    source = "def scorer():\n    import antigravity, not_there\n    from .parent import value\n"
    exec(source, module.__dict__)
    digest(module.scorer)
    assert "antigravity" not in sys.modules


def test_code_that_changes_no_result_changes_no_digest(tmp_path):
    sources = (
        "def scorer(estimator, X, y):\n    return 1.0\n",
        "# a comment\nUNUSED = 5\n\n\ndef other(): ...\n\ndef scorer(estimator, X, y):\n"
        "    # why\n    return 1.0\n",
    )
    found = set()
    for number, source in enumerate(sources):
        module = types.ModuleType(MODULE)
        exec(compile(source, f"{number}.py", "exec"), module.__dict__)
        found.add(digest(module.scorer))
    assert len(found) == 1


class Held(ClassifierMixin, BaseEstimator):
    """Predicts by a model that is fitted already."""

    def __init__(self, model):
        self.model = model

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.model.predict(X)


def test_a_model_that_clones_keep_fitted_counts(tmp_path, calls):
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
    options = {"cv": 3, "random_state": None, "cache": tmp_path}
    one = parameter_search(estimator, {"alpha": [1.0]}, X, y, **options)
    estimator.fit(X, y)
    assert parameter_search(estimator, {"alpha": [1.0]}, X, y, **options) == one
    assert len(calls) == 3


def test_configured_estimators_differ():
    one, other = RidgeClassifier(), RidgeClassifier()
    other._metadata_request = 1
    assert digest(one) != digest(other)


def test_long_doubles_are_digested_by_value():
    values = [np.longdouble(1) / 3, np.longdouble(2) / 3]
    assert digest(values[0]) == digest(values[0] * 1) != digest(values[1])
    assert digest(np.array(values)) == digest(np.array(values) * 1) != digest(np.array(values[::-1]))


def test_many_functions_that_call_each_other_are_digested_once_each():
    n_functions = 60
    body = " or ".join(f"f{number}()" for number in range(n_functions))
    source = "\n".join(f"def f{number}(): return {number} or {body}" for number in range(n_functions))
    module = types.ModuleType(MODULE)
    exec(source, module.__dict__)
    assert digest(module.f0) != digest(module.f1)


def test_long_chains_of_functions_are_digested():
    source = "def f0(): return 1\n" + "\n".join(
        f"def f{number}(): return f{number - 1}()" for number in range(1, 3000)
    )
    module = types.ModuleType(MODULE)
    exec(source, module.__dict__)
    assert len(digest(module.f2999)) == 40


def test_frames_differ_by_their_index_and_categories():
    pandas = pytest.importorskip("pandas")
    frames = [
        pandas.DataFrame({"a": ["x", "y"]}, dtype=pandas.CategoricalDtype(categories), index=index)
        for categories in (["x", "y"], ["y", "x"])
        for index in ([0, 1], [1, 0])
    ]
    assert len({digest(frame) for frame in frames}) == 4
    for one, other in itertools.pairwise(frames):
        assert digest(one["a"]) != digest(other["a"])
