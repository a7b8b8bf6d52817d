"""A cached result is found only for the data, the code and the versions that computed it."""

import importlib
import importlib.util
import shutil
import sys
import types

import numpy as np
import pytest
import sklearn
from edited_code import MODULE, SOURCES, digest_of, digests, estimator_of, module_of
from other_process import printed_by
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import RidgeClassifier

from margins.model_selection import keys, parameter_search, running
from margins.model_selection.keys import code_of, digest

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
    estimator = estimator_of(module)
    return parameter_search(estimator, {}, X, y, scoring=module.scorer, cache=folder, **options)


@pytest.mark.parametrize("name", ["closure", "base of an estimator"])
def test_edited_code_is_run_and_unedited_code_is_not(name, tmp_path, calls):
    for value in (1.0, 2.0):
        assert search(module_of(name, value), tmp_path).mean() == value
    assert len(calls) == 6
    for value in (1.0, 2.0):
        assert search(module_of(name, value), tmp_path).mean() == value
    assert len(calls) == 6


def test_any_edited_code_has_another_key_and_unedited_code_has_the_same():
    for name in SOURCES if importlib.util.find_spec("pandas") else SOURCES.keys() - {"series"}:
        found = {1.0: set(), 2.0: set()}
        for value in (1.0, 2.0, 1.0, 2.0):
            module = module_of(name, value)
            assert module.scorer(clone(estimator_of(module)).fit(X, y), X, y) == value, name
            found[value].add(digest_of(module))
        assert [len(keys) for keys in found.values()] == [1, 1] and found[1.0] != found[2.0], name


@pytest.fixture
def users_folder(tmp_path, monkeypatch):
    """A folder that modules named `users_...` are imported from."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield tmp_path
    forget()


def forget():
    """Forget the modules of a user, as another process has not loaded them."""
    importlib.invalidate_caches()
    for name in [each for each in sys.modules if each.startswith("users_")]:
        del sys.modules[name]


def module_from(source):
    module = types.ModuleType(MODULE)
    sys.modules[MODULE] = module
    exec(source, module.__dict__)
    return module


def key_of(*values):
    return digest(*values), code_of(*values)


USES = {
    "module": "import users_helpers\ndef scorer(*_): return users_helpers.value()",
    "module within": "def scorer(*_):\n    import users_helpers\n    return users_helpers.value()",
    "function": "from users_helpers import value\ndef scorer(*_): return value()",
    "function within": "def scorer(*_):\n    from users_helpers import value\n    return value()",
    "package": "import users_package.inner\ndef scorer(*_): return users_package.inner.value()",
    "relative": "from users_package import scorer",
    "import of an import": "def scorer(*_):\n    import users_outer\n    return users_outer.value()",
}


@pytest.mark.parametrize("use", USES)
def test_edited_modules_are_noticed(use, users_folder):
    (users_folder / "users_package").mkdir()
    (users_folder / "users_package" / "__init__.py").write_text(
        "def scorer(*_):\n    from .inner import value\n    return value()"
    )
    (users_folder / "users_outer.py").write_text("from users_helpers import value")
    found = set()
    for value in (1.0, 2.0, 1.0):
        for name in ("users_helpers.py", "users_package/inner.py"):
            (users_folder / name).write_text(f"TABLE = [{value}]\ndef value():\n    return TABLE[0]\n")
        forget()
        module = module_from(USES[use])
        found.add(key_of(module.scorer))
        assert module.scorer() == value
    assert len(found) == 2


def test_a_variable_of_a_module_that_was_set_from_outside_is_noticed(users_folder):
    (users_folder / "users_config.py").write_text("LIMIT = 1")
    scorer = module_from("import users_config\ndef scorer(*_): return users_config.LIMIT").scorer
    before = key_of(scorer)
    sys.modules["users_config"].LIMIT = 2
    assert key_of(scorer) != before


def test_modules_that_code_does_not_name_are_not_loaded(users_folder):
    (users_folder / "users_script.py").write_text("raise RuntimeError")
    scorer = module_from("def scorer(*_):\n    import users_script, antigravity, not_there").scorer
    code_of(scorer)
    assert not {"users_script", "antigravity"} & sys.modules.keys()


MAIN = """
import sys
from sklearn.linear_model import RidgeClassifier
import margins
from margins.model_selection import parameter_search, running

calls, run = [], running.run
running.run = lambda *task: calls.append(task) or run(*task)
LIMIT = 1.0
def scorer(estimator, X, y):
    return LIMIT * 1.0
class Own(RidgeClassifier):
    NAMES = {"a", "b", "c"}
    def fit(self, X, y):
        return super().fit(X, y)
X, y = [[0.0], [1.0], [2.0], [3.0]] * 3, list("abab") * 3
model = Own(class_weight={name: 1.0 for name in set(y)})
grid = {"alpha": [1.0]}
metrics = {"one": scorer, "other": lambda *_: 1.0}
parameter_search(
    model, grid, X, y, cv=2, scoring=metrics, refit="one", cache=sys.argv[1], progress=False
)
print(len(calls))
"""


EDITS = {
    "nothing": (MAIN, MAIN),
    "variable": ("LIMIT = 1.0", "LIMIT = 0.5"),
    "scorer": ("LIMIT * 1.0", "LIMIT * 2.0"),
    "lambda": ("lambda *_: 1.0", "lambda *_: 2.0"),
    "estimator": ("super().fit(X, y)", "super().fit(X, y, None)"),
    "attribute": ('{"a", "b", "c"}', '{"a", "b", "d"}'),
    "data": ("[2.0]", "[2.5]"),
}


# Runs programs one after the other, as if each had a process: those of files, and others as texts,
# which are sessions without a file, as notebooks are.
IN_TURN = """
import runpy, sys, types
folder, *paths = sys.argv[1:]
for path in paths:
    sys.argv = [path, folder + "/cache of " + path[-3:]]
    if path.endswith(".py"):
        runpy.run_path(path, run_name="__main__")
    else:
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(open(path).read(), main.__dict__)
"""
# Their digests are the same in every process; not that of the series, for pandas takes long to import.
NAMES = [name for name in SOURCES if name != "series"]


def printed_in_turn(programs, folder, seed):
    """The line that each program prints, all in one new process, whose hashes have a seed: dict."""
    for name, source in programs.items():
        (folder / name).write_text(source)
    paths = [folder / name for name in programs]
    printed = printed_by("-c", IN_TURN, folder, *paths, PYTHONHASHSEED=seed)
    return dict(zip(programs, printed.splitlines(), strict=True))


def test_edits_of_main_are_noticed_and_another_process_finds_results_and_digests(tmp_path):
    first = {"nothing.txt": MAIN, "nothing.py": MAIN}
    assert printed_in_turn(first, tmp_path, seed="0") == {"nothing.txt": "2", "nothing.py": "2"}
    programs = {f"{name}.txt": MAIN.replace(*edit) for name, edit in EDITS.items()}
    programs |= {"nothing.py": MAIN, "scorer.py": MAIN.replace(*EDITS["scorer"])}
    programs["digests.txt"] = f"import edited_code as t; print(*t.digests({NAMES!r}).values())"
    second = printed_in_turn(programs, tmp_path, seed="5")
    assert second.pop("digests.txt").split() == list(digests(NAMES).values())
    assert second.pop("nothing.txt") == second.pop("nothing.py") == "0"
    assert second == dict.fromkeys(second, "2")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["text", "file"])
def test_edits_of_main_are_noticed_by_processes_of_their_own(how, tmp_path):
    n_calls = []
    for number, name in enumerate(["nothing", *EDITS]):
        path = tmp_path / "main.py"
        path.write_text(MAIN.replace(*EDITS[name]))
        program = [path] if how == "file" else ["-c", path.read_text()]
        n_calls += printed_by(*program, tmp_path / "cache", PYTHONHASHSEED=str(number)).split()
    assert n_calls == ["2", "0"] + ["2"] * (len(EDITS) - 1)


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
        parameter_search(Own(), {}, X, y, cv=3, random_state=0, cache=tmp_path / "cache")
        info.rmdir()
        n_calls.append(len(calls))
    assert n_calls == [3, 6, 6]


def test_another_configuration_of_scikit_learn_finds_nothing(tmp_path, calls):
    for transform_output in ("default", "pandas"):
        with sklearn.config_context(transform_output=transform_output):
            parameter_search(RidgeClassifier(), {}, X, y, cv=3, random_state=0, cache=tmp_path)
    assert len(calls) == 6


def test_edited_files_of_this_library_are_noticed(tmp_path, monkeypatch):
    copy = tmp_path / "margins"
    original = keys.LIBRARY
    shutil.copytree(original, copy, ignore=shutil.ignore_patterns("__pycache__", "*.c*"))
    compiled = next(original.glob("_update*.so"))
    shutil.copy2(compiled, copy)
    monkeypatch.setattr(keys, "LIBRARY", copy)
    monkeypatch.setattr(keys, "STARTED", keys.time.time() + 1000)
    found = [code_of()]
    (copy / "_update.pyx").write_text("")
    assert code_of() == found[0]
    for path in (copy / "registry.py", copy / "losses" / "losses.py", copy / compiled.name):
        path.write_bytes(path.read_bytes() + b"\n")
        found.append(code_of())
    assert len(set(found)) == 4


def test_a_library_that_was_changed_while_it_runs_is_rejected_only_with_a_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(keys, "STARTED", 0.0)
    sentence = "cache of parameter_search must be None: .* was changed after this process started"
    with pytest.raises(RuntimeError, match=sentence):
        parameter_search(RidgeClassifier(), {}, X, y, cv=3, cache=tmp_path)
    parameter_search(RidgeClassifier(), {}, X, y, cv=3)


def test_a_setting_without_a_key_is_rejected_before_any_fit(tmp_path, calls):
    with pytest.raises(TypeError, match="cache of parameter_search must be None: a value must have"):
        parameter_search(
            RidgeClassifier(), {"tol": [1e-3, np.frompyfunc(abs, 1, 1)]}, X, y, cache=tmp_path
        )
    assert not calls


REJECTED = {
    "lock": "import threading\nLOCK = threading.Lock()\ndef scorer(*_):\n    with LOCK: return 1.0",
    "generator": "VALUES = iter(x for x in [1.0])\ndef scorer(*_): return next(VALUES)",
    "executed text": "def scorer(*_): return eval('1.0')",
    "names by text": "def scorer(*_): return globals()['X']",
    "ufunc": "import numpy as np\nU = np.frompyfunc(lambda x: x, 1, 1)\ndef scorer(*_): return U(1.0)",
    "name alone": "class A:\n    def __reduce__(self): return 'ONE'\n"
    "ONE = A()\ndef scorer(*_): return float(ONE is not None)",
    "attribute of a class": "class A:\n    lock = __import__('threading').Lock()\n"
    "def scorer(*_): return float(A.lock is not None)",
}


@pytest.mark.parametrize("name", REJECTED)
def test_code_without_a_key_is_rejected_only_with_a_cache(name, tmp_path, calls):
    module = module_from(REJECTED[name])
    sentence = r"cache of parameter_search must be None: .* Got .* within users_code\.(scorer|A): .+"
    with pytest.raises(TypeError, match=sentence) as error:
        search(module, tmp_path)
    assert "\n" not in str(error.value) and not calls
    search(types.SimpleNamespace(scorer=lambda *_: 1.0), None)
    assert calls


def test_names_of_files_are_not_part_of_code():
    """Cells of notebooks are compiled under another name in every process."""
    found = set()
    for name in ("/tmp/ipykernel_1/5.py", "/tmp/ipykernel_2/6.py"):
        module = types.ModuleType(MODULE)
        exec(compile("def scorer(*_): return [x for x in [1.0]][0]", name, "exec"), module.__dict__)
        found.add(digest(module.scorer))
    assert len(found) == 1


def test_main_is_local_code_even_if_its_file_is_installed(monkeypatch):
    """The file of a notebook's `__main__` is the launcher."""
    main = sys.modules["__main__"]
    monkeypatch.setattr(main, "__file__", "site-packages/launcher.py", raising=False)
    one = module_from(REJECTED["name alone"]).ONE
    type(one).__module__ = "__main__"
    monkeypatch.setattr(main, "ONE", one, raising=False)
    with pytest.raises(TypeError, match="is pickled by the name 'ONE' alone"):
        digest(one)


def test_lines_are_not_part_of_a_class():
    found = set()
    for line in (1, 2):
        Base = module_from("import abc\nclass Base(abc.ABC): pass").Base
        Base.__firstlineno__ = line  # as Python 3.13 sets it
        found.add(digest(Base))
    assert len(found) == 1


def test_modules_that_are_loaded_meanwhile_change_nothing(monkeypatch):
    monkeypatch.delitem(sys.modules, "wsgiref.headers", raising=False)
    scorer = module_from("import wsgiref\ndef scorer(*_): return wsgiref.headers").scorer
    before = digest(scorer)
    importlib.import_module("wsgiref.headers")
    assert digest(scorer) == before


def test_a_name_that_may_be_a_variable_or_an_attribute_counts_as_both():
    with pytest.raises(TypeError, match="code must not name eval"):
        digest(module_from("def scorer(model, *_): return model.eval()").scorer)
    source = "limit = {}\ndef scorer(model, *_): return model.limit"
    assert digest(module_from(source.format(1)).scorer) != digest(module_from(source.format(2)).scorer)


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
