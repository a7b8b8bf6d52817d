"""Killed studies are resumed, damaged files are detected, and processes may share a folder."""

import itertools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import margins
from margins.model_selection import FitFailed, double_cross_validation, parameter_search, running
from margins.model_selection.cache import ABANDONED, Cache
from margins.model_selection.keys import digest

HERE = os.path.dirname(__file__)
X, y = load_breast_cancer(return_X_y=True)
X, y = X[:150] / X.max(axis=0), y[:150]
GRID = {"tau": [0, 0.5, 1], "alpha_bound": [5, 10]}
N_TASKS = 4 * 3 * 6 + 4  # no chunk of settings has two, for there are few fits

SCRIPT = """
import sys
from margins.model_selection import running
calls, run = [], running.run
running.run = lambda *task: calls.append(task[1]) or run(*task)
import test_cache as tests
study = tests.study_of(cache=sys.argv[1])
print(len(calls))
print(study.to_json())
"""


def study_of(estimator=None, X=X, y=y, grid=GRID, **options):
    estimator = estimator or margins.get("pam")(max_iter=30, kernel="rbf", gamma=0.5)
    options = {"outer": 4, "inner": 3, "random_state": 0} | options
    return double_cross_validation(estimator, grid, X, y, **options)


@pytest.fixture(scope="module")
def undisturbed():
    return study_of()


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """A cache of the finished study."""
    folder = tmp_path_factory.mktemp("full")
    study_of(cache=folder)
    return folder


@pytest.fixture
def calls(monkeypatch):
    """The tasks that are computed, not found."""
    made, run = [], running.run
    monkeypatch.setattr(running, "run", lambda *task: made.append(task[2]) or run(*task))
    return made


def files(folder):
    return sorted(folder.glob("??/*.json"))


def started(folder):
    environment = os.environ | {
        "PYTHONPATH": HERE,
        "OPENBLAS_NUM_THREADS": "1",
    }
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(folder)], env=environment, stdout=subprocess.PIPE, text=True
    )


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_killed_studies_are_resumed(tmp_path, undisturbed):
    stops = sorted(random.SystemRandom().sample(range(1, N_TASKS - 10), 3))
    for stop in stops:
        with started(tmp_path) as process:
            while len(files(tmp_path)) < stop and process.poll() is None:
                time.sleep(0.001)
            process.send_signal(signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL, stops
    kept = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in files(tmp_path)}
    assert stops[-1] <= len(kept) < N_TASKS
    with started(tmp_path) as process:
        n_calls, text, *_ = process.communicate()[0].split("\n")
    assert type(undisturbed).from_json(text) == undisturbed
    assert int(n_calls) == N_TASKS - len(kept)
    assert all((path.stat().st_mtime_ns, path.read_bytes()) == now for path, now in kept.items())


def test_a_finished_study_is_read_from_the_cache_with_its_times(full, undisturbed, calls):
    again = study_of(cache=full)
    assert not calls and again == undisturbed
    assert study_of(cache=full).to_json() == again.to_json()
    assert len(files(full)) == N_TASKS


@pytest.mark.parametrize("damage", ["truncated", "empty", "bit", "renamed", "removed"])
def test_damage_is_detected_and_computed_again(damage, full, tmp_path, undisturbed, calls):
    shutil.copytree(full, tmp_path, dirs_exist_ok=True)
    path, other, *_ = files(tmp_path)
    whole = path.read_bytes()
    if damage == "truncated":
        path.write_bytes(whole[:-3])
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "bit":  # in a score: JSON all the same
        changed = re.sub(rb"0\.(\d)", lambda digit: b"0.%d" % (9 - int(digit[1])), whole, count=1)
        json.loads(changed.partition(b"\n")[2])
        assert changed != whole
        path.write_bytes(changed)
    elif damage == "renamed":
        path.write_bytes(other.read_bytes())
    else:
        path.unlink()
    assert study_of(cache=tmp_path) == undisturbed
    assert len(calls) == 1
    assert len(files(tmp_path)) == N_TASKS
    assert study_of(cache=tmp_path) == undisturbed
    assert len(calls) == 1


def test_two_processes_share_a_cache(tmp_path, undisturbed):
    with started(tmp_path) as one, started(tmp_path) as other:
        texts = [process.communicate()[0].split("\n") for process in (one, other)]
    n_calls = [int(text[0]) for text in texts]
    studies = [type(undisturbed).from_json(text[1]) for text in texts]
    assert studies == [undisturbed, undisturbed]
    assert len(files(tmp_path)) == N_TASKS <= sum(n_calls) < 2 * N_TASKS
    assert not list(tmp_path.glob("??/*.tmp"))


def test_tasks_finished_by_other_processes_are_not_repeated(tmp_path, full, undisturbed, monkeypatch):
    calls, run = [], running.run

    def run_while_others_do_the_rest(*task):
        calls.append(task[1])
        shutil.copytree(full, tmp_path, dirs_exist_ok=True)
        return run(*task)

    monkeypatch.setattr(running, "run", run_while_others_do_the_rest)
    assert study_of(cache=tmp_path) == undisturbed
    assert len(calls) == 1
    times = [[path.stat().st_mtime_ns for path in files(folder)] for folder in (full, tmp_path)]
    assert sum(one != other for one, other in zip(*times, strict=True)) <= 1  # the one that was run


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_failure_starts_no_further_task_and_keeps_finished_ones(n_jobs, tmp_path, calls):
    holes = X.copy()
    holes[0, 0] = np.nan
    folds = [(np.arange(1, 150), np.arange(5)), (np.arange(2, 150), [1])]  # the test of the first fails
    options = {"cv": folds, "n_jobs": n_jobs, "random_state": 0}
    with pytest.raises(FitFailed, match="fold 0"):
        parameter_search(RidgeClassifier(), {"alpha": range(1, 21)}, holes, y, cache=tmp_path, **options)
    assert len(files(tmp_path)) == sum(task.split == 1 for task in calls)
    del calls[:]
    with pytest.raises(FitFailed, match="fold 0, with {'alpha': 1"):
        parameter_search(RidgeClassifier(), {"alpha": range(1, 21)}, holes, y, **options)
    assert len(calls) <= 10 * n_jobs < 40


def test_without_a_seed_the_cache_keeps_the_one_drawn(tmp_path, calls):
    study = study_of(cache=tmp_path, random_state=None)
    assert study == study_of(cache=tmp_path, random_state=None)
    assert len(calls) == N_TASKS
    assert study.seed != study_of(cache=tmp_path / "other", random_state=None).seed


RIDGE = {"grid": {"alpha": [1.0, 2.0]}, "outer": 2, "inner": 2}
CHANGES = {
    "X": {"X": X + 1e-9},
    "dtype": {"X": X.astype(np.float32)},
    "y": {"y": np.where(np.arange(150) == 7, 1 - y, y)},
    "weights": {"sample_weight": np.linspace(1, 2, 150)},
    "estimator": {
        "estimator": make_pipeline(RidgeClassifier()),
        "grid": {"ridgeclassifier__alpha": [1.0]},
    },
    "parameter": {"estimator": RidgeClassifier(tol=1e-5)},
    "setting": {"grid": {"alpha": [3.0, 4.0]}},
    "folds": {"random_state": 1},
    "metric": {"scoring": "f1"},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_the_cache_has_nothing_for_another_study(change, tmp_path, calls):
    base = {"estimator": RidgeClassifier()} | RIDGE
    study_of(**base, cache=tmp_path)
    del calls[:]
    study_of(**base, cache=tmp_path)
    assert not calls
    changed = study_of(**base | change, cache=tmp_path)
    assert len(calls) == sum(table.fit_times.size for table in changed.tables) + 2


def test_other_versions_find_nothing(tmp_path, calls, monkeypatch):
    base = {"estimator": RidgeClassifier()} | RIDGE
    study_of(**base, cache=tmp_path)
    before = len(calls)
    monkeypatch.setattr(margins, "__version__", "0.0.0")
    study_of(**base, cache=tmp_path)
    assert len(calls) == 2 * before


def test_additional_settings_reuse_cached_ones(tmp_path, calls):
    base = {"estimator": RidgeClassifier()} | RIDGE
    study_of(**base, cache=tmp_path)
    before = len(calls)
    study_of(**base | {"grid": {"alpha": [0.5, 1.0, 2.0]}}, cache=tmp_path)
    assert before + 4 <= len(calls) <= before + 6  # the new ones; the outer fits, if another is the best


def test_abandoned_files_are_swept(tmp_path):
    Cache(tmp_path, "test").put("abc", [1])
    old, new = tmp_path / "ab" / "old.tmp", tmp_path / "ab" / "new.tmp"
    for path in (old, new):
        path.touch()
    then = time.time() - 2 * ABANDONED
    os.utime(old, (then, then))
    assert Cache(tmp_path, "test").get("abc") == [1]
    assert not old.exists() and new.exists()


def test_agreement_is_the_content_of_the_first(tmp_path):
    one, other = Cache(tmp_path, "test"), Cache(tmp_path, "test")
    assert one.agree("abc", 1) == 1 and other.agree("abc", 2) == 1
    (tmp_path / "ab" / "abc.json").write_text("torn")
    assert other.agree("abc", 2) == 2 == one.agree("abc", 1)


def scaled(X, factor=2):
    return X * factor


scaled.__module__ = "anywhere"  # of unknown version, so its code is part of the key


def digests():
    values = [
        make_pipeline(FunctionTransformer(scaled), StandardScaler()),
        set("abcdefg"),
        np.eye(2),
        {"a": 1.0},
    ]
    return [digest(value) for value in values] + [digest(values)]


def test_digests_are_the_same_in_every_process():
    code = "import test_cache as t; print(*t.digests())"
    environment = os.environ | {
        "PYTHONPATH": HERE,
        "PYTHONHASHSEED": "5",
    }
    answer = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert answer.stdout.split() == digests()


def test_digests_differ_for_different_objects():
    def one(x):
        return x + 1

    def other(x):
        return x + 2

    values = [
        1, 1.0, True, "1", b"1", None, (1,), [1], {1: 1}, {1}, [[1]], [1, 1], [], [[], []], [[[]]],
        np.array([1]), np.array([1.0]), np.array([[1]]), np.array([1], dtype=object), np.eye(2),
        np.random.RandomState(0), np.random.RandomState(1), np.random.default_rng(0), one, other,
        RidgeClassifier(), RidgeClassifier, RidgeClassifier(alpha=2), -0.0, 0.0, "ab", ["a", "b"],
    ]  # fmt: skip
    assert len({digest(value) for value in values}) == len(values)
    table = np.arange(4.0).reshape(2, 2)
    assert digest(table) == digest(table.copy())
    assert len(set(map(digest, (table, table.T, np.asfortranarray(table))))) == 3
    word = "".join(["a", "b"])
    assert digest([word, word]) == digest([word, "".join(["a", "b"])])  # of one object or two
    loop = {}
    loop["self"] = loop
    for value in ((x for x in []), loop):
        with pytest.raises(TypeError, match=r"a value must have a pickle that identifies it\. Got"):
            digest(value)


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


def test_frames_and_matrices_count_by_content():
    pandas = pytest.importorskip("pandas")
    whole = pandas.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    joined = whole[["a"]].assign(b=[3.0, 4.0])  # stored in other blocks
    assert digest(whole) == digest(joined) != digest(whole.rename(columns={"a": "c"}))
    matrix = sparse.csr_matrix(np.eye(3))
    before = digest(matrix)
    matrix.sum_duplicates()  # sets flags
    assert digest(matrix) == before != digest(2 * matrix)
