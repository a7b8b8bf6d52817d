"""Killed studies are resumed, damaged files are detected, and processes may share a folder."""

import itertools
import json
import os
import random
import re
import shutil
import signal
import time

import numpy as np
import pytest
from cached_study import N_TASKS, X, study_of, y
from scipy import sparse
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline

from margins.model_selection import FitFailed, engine, parameter_search, running
from margins.model_selection.cache import ABANDONED, Cache
from margins.model_selection.keys import digest


@pytest.fixture(scope="module")
def undisturbed():
    return study_of()


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """A cache of the finished study."""
    folder = tmp_path_factory.mktemp("full")
    study_of(cache=folder)
    return folder


def files(folder):
    return sorted(folder.glob("??/*.json"))


def begun(folder):
    """Begin the study in a child: (its number, an end of a pipe, from which its calls and text come)."""
    read, write = os.pipe()
    child = os.fork()
    if child:
        os.close(write)
        return child, os.fdopen(read)
    status, calls, run = 1, [], running.run

    def run_slowly(*task):
        calls.append(task[1])
        time.sleep(0.005)
        return run(*task)

    try:
        running.run = run_slowly
        text = study_of(cache=folder).to_json()
        with os.fdopen(write, "w") as file:
            file.write(f"{len(calls)}\n{text}")
        status = 0
    finally:
        os._exit(status)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")  # of a process with threads
@pytest.mark.parametrize("n_kills", [1, pytest.param(5, marks=pytest.mark.slow)])
def test_two_processes_resume_a_killed_study(n_kills, tmp_path, undisturbed):
    stops = sorted(random.SystemRandom().sample(range(1, N_TASKS // 2), n_kills))
    for stop in stops:
        child, text = begun(tmp_path)
        while len(files(tmp_path)) < stop:
            assert os.waitpid(child, os.WNOHANG) == (0, 0), stops
            time.sleep(0.002)
        os.kill(child, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL, stops
        text.close()
    kept = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in files(tmp_path)}
    of_killed = set(tmp_path.glob("??/*.tmp"))
    n_left = N_TASKS - len(kept)
    assert stops[-1] <= len(kept) < N_TASKS
    children = [begun(tmp_path) for _ in range(2)]
    n_calls = []
    for child, text in children:
        with text:
            n_calls.append(int(text.readline()))
            assert type(undisturbed).from_json(text.read()) == undisturbed
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert max(n_calls) <= n_left <= sum(n_calls) < 2 * n_left
    # What had been kept was not computed again.
    assert all((path.stat().st_mtime_ns, path.read_bytes()) == now for path, now in kept.items())
    assert len(files(tmp_path)) == N_TASKS and set(tmp_path.glob("??/*.tmp")) <= of_killed


def test_a_finished_study_is_read_from_the_cache_with_its_times(full, undisturbed, calls):
    again = study_of(cache=full)
    assert not calls and again == undisturbed
    assert study_of(cache=full).to_json() == again.to_json()
    assert len(files(full)) == N_TASKS


def harmed(whole, other):
    """What may become of a record: the name of the damage, and the bytes."""
    flipped = re.sub(rb"0\.(\d)", lambda digit: b"0.%d" % (9 - int(digit[1])), whole, count=1)
    json.loads(flipped.partition(b"\n")[2])  # another score: JSON all the same
    assert flipped != whole
    return {"truncated": whole[:-3], "empty": b"", "flipped": flipped, "renamed": other}


def test_damage_is_detected_and_computed_again(full, tmp_path, undisturbed, calls):
    shutil.copytree(full, tmp_path, dirs_exist_ok=True)
    *paths, removed, other = files(tmp_path)[:6]
    removed.unlink()
    for path, damage in zip(paths, ["truncated", "empty", "flipped", "renamed"], strict=True):
        path.write_bytes(harmed(path.read_bytes(), other.read_bytes())[damage])
        assert Cache(tmp_path, "test").get(path.stem) is None, damage
    assert study_of(cache=tmp_path) == undisturbed
    assert len(calls) == 5
    assert len(files(tmp_path)) == N_TASKS
    assert study_of(cache=tmp_path) == undisturbed
    assert len(calls) == 5


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


def test_the_seed_of_numpy_repeats_a_study_without_a_seed():
    studies = []
    for seed in (3, 3, 4):
        np.random.seed(seed)  # noqa: NPY002  # the generator that None stands for
        studies.append(study_of(random_state=None))
    assert studies[0].seed == studies[1].seed != studies[2].seed


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


@pytest.fixture(scope="module")
def of_ridge(tmp_path_factory):
    """A cache of the study that is changed."""
    folder = tmp_path_factory.mktemp("ridge")
    study_of(RidgeClassifier(), **RIDGE, cache=folder)
    return folder


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_the_cache_has_nothing_for_another_study(change, of_ridge, tmp_path, calls):
    base = {"estimator": RidgeClassifier()} | RIDGE
    shutil.copytree(of_ridge, tmp_path, dirs_exist_ok=True)
    changed = study_of(**base | change, cache=tmp_path)
    assert len(calls) == sum(table.fit_times.size for table in changed.tables) + 2


def test_other_versions_find_nothing(tmp_path, calls, monkeypatch):
    base = {"estimator": RidgeClassifier()} | RIDGE
    study_of(**base, cache=tmp_path)
    before = len(calls)
    monkeypatch.setattr(engine, "__version__", "0.0.0")
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
