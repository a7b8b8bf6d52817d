"""A study ends with the undisturbed numbers or with one clear error if something fails on the way."""

import contextlib
import errno
import itertools
import os
import shutil
import subprocess
import sys
from concurrent.futures import CancelledError
from concurrent.futures.process import BrokenProcessPool

import numpy as np
import pytest
from sklearn.linear_model import RidgeClassifier

from margins.model_selection import FitFailed, cache, parameter_search, running
from margins.model_selection.cache import Cache

X = np.random.default_rng(0).normal(size=(60, 3))
y = (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int)
GRID = {"alpha": [0.1, 1.0, 10.0, 100.0, 1000.0]}
N_TASKS = 20


def study_of(estimator=None, **options):
    options = {"cv": 4, "random_state": 0, "progress": False} | options
    return parameter_search(estimator or RidgeClassifier(), GRID, X, y, **options)


@pytest.fixture(scope="module")
def undisturbed():
    return study_of()


def records(folder):
    return sorted(folder.glob("??/*.json"))


def leftovers(folder):
    return list(folder.glob("??/*.tmp"))


# ------------------------------------------------------------------------------------- what is written


def failing(function, code, numbers):
    """The function, which raises OSError in the calls with some numbers."""
    count = itertools.count()

    def called(*args, **options):
        if next(count) in numbers:
            raise OSError(code, os.strerror(code))
        return function(*args, **options)

    return called


@pytest.mark.parametrize(
    ("owner", "name", "code"),
    [
        (os, "mkdir", errno.EACCES),
        (cache.tempfile, "NamedTemporaryFile", errno.ENOSPC),
        (os, "replace", errno.EROFS),
    ],
)
def test_writes_that_fail_lose_no_result(owner, name, code, tmp_path, undisturbed, calls, monkeypatch):
    Cache(tmp_path, "test")
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, failing(getattr(owner, name), code, range(5, 12)))
        sentence = rf"cache of parameter_search could not be written to: .*{os.strerror(code)}"
        with pytest.warns(RuntimeWarning, match=sentence) as caught:
            assert study_of(cache=tmp_path) == undisturbed
    assert len(caught) == 1 and len(calls) == N_TASKS
    kept = len(records(tmp_path))
    assert N_TASKS - 7 <= kept < N_TASKS and not leftovers(tmp_path)
    assert study_of(cache=tmp_path) == undisturbed
    assert len(calls) == N_TASKS + N_TASKS - kept
    assert len(records(tmp_path)) == N_TASKS


class FullFile:
    """A file on a full disk: it can be made, and not be written to."""

    def __init__(self, file):
        self._file, self.name = file, file.name

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._file.close()

    def write(self, text):
        self._file.write(text[:3])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_leaves_no_parts_of_files(tmp_path, undisturbed, monkeypatch):
    made = cache.tempfile.NamedTemporaryFile
    monkeypatch.setattr(
        cache.tempfile, "NamedTemporaryFile", lambda *args, **options: FullFile(made(*args, **options))
    )
    with pytest.warns(RuntimeWarning, match="No space left"):
        assert study_of(cache=tmp_path) == undisturbed
    with pytest.warns(RuntimeWarning, match="No space left"):  # nor is the seed kept
        study_of(cache=tmp_path, random_state=None)
    assert not records(tmp_path) and not leftovers(tmp_path)


@contextlib.contextmanager
def mounted(folder, options):
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if sys.platform != "linux" or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("no permission to mount a file system")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.slow  # it mounts a file system, where that is allowed
def test_a_file_system_that_is_full_then_read_only_then_larger(tmp_path, undisturbed, calls):
    with mounted(tmp_path, "size=64k"):
        with pytest.warns(RuntimeWarning, match="No space left") as caught:
            assert study_of(cache=tmp_path) == undisturbed
        kept = len(records(tmp_path))
        assert len(caught) == 1 and 0 < kept < N_TASKS and not leftovers(tmp_path)
        remount = ["mount", "-o", "remount,{}", str(tmp_path)]
        subprocess.run([each.format("ro") for each in remount], check=True)
        with pytest.raises(ValueError, match="cache of parameter_search must be a folder .* Read-only"):
            study_of(cache=tmp_path)
        subprocess.run([each.format("rw,size=4m") for each in remount], check=True)
        assert study_of(cache=tmp_path) == undisturbed
        assert len(calls) == 2 * N_TASKS - kept
        assert len(records(tmp_path)) == N_TASKS


def test_other_things_under_the_names_of_records(tmp_path, undisturbed, calls):
    study_of(cache=tmp_path)
    first, second, *_ = records(tmp_path)
    first.unlink()
    first.mkdir()  # a folder in place of a record
    folder = next(path.parent for path in records(tmp_path) if path.parent != first.parent)
    lost = 1 + len(list(folder.glob("*.json")))
    shutil.rmtree(folder)
    folder.write_text("")  # a file in place of a folder
    with pytest.warns(RuntimeWarning, match="cache of parameter_search could not be written to"):
        assert study_of(cache=tmp_path) == undisturbed
    assert len(calls) == N_TASKS + lost and not leftovers(tmp_path)


@pytest.mark.parametrize("bad", ["file", "null", "file within"])
def test_folders_that_cannot_be_are_one_clear_error(bad, tmp_path):
    (tmp_path / "file").touch()
    folder = {"file": tmp_path / "file", "null": "\0", "file within": tmp_path / "file" / "x"}[bad]
    with pytest.raises(ValueError, match="cache of parameter_search must be a folder"):
        study_of(cache=folder)


def test_agreement_without_hard_links(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", failing(os.link, errno.EPERM, range(9)))
    one, other = Cache(tmp_path, "test"), Cache(tmp_path, "test")
    assert one.agree("abc", 1) == other.agree("abc", 2) == 1
    assert not leftovers(tmp_path)


def test_agreement_with_one_whose_record_is_harmed_at_once(tmp_path, monkeypatch):
    def link(mine, path):
        path.write_text("harmed")
        raise FileExistsError

    monkeypatch.setattr(os, "link", link)
    assert Cache(tmp_path, "test").agree("abc", 1) == 1
    assert Cache(tmp_path, "test").get("abc") == 1


# ------------------------------------------------------------------------------------- workers that die


class Lossy:
    """joblib's Parallel, whose workers die after some results; a list holds the numbers of results."""

    def __init__(self, results, error):
        self._results, self._error = results, error

    def __call__(self, *args, **options):
        return self._run

    def _run(self, jobs):
        limit = self._results.pop(0) if self._results else None
        for number, (function, args, options) in enumerate(jobs):
            if number == limit:
                if self._error is None:  # the generator ends early
                    return
                raise self._error
            yield function(*args, **options)


LOSSES = {"loky": BrokenProcessPool("died"), "cancelled": CancelledError(), "end": None}


@pytest.mark.parametrize("error", LOSSES.values(), ids=LOSSES.keys())
def test_tasks_of_dead_workers_are_run_again(error, undisturbed, calls, monkeypatch, tmp_path):
    monkeypatch.setattr(running, "Parallel", Lossy([3, 0, 2, 0, 0, 4], error))
    assert study_of() == undisturbed
    assert len(calls) == N_TASKS
    monkeypatch.setattr(running, "Parallel", Lossy([3, 0, 2, 0, 0, 4], error))
    assert study_of(cache=tmp_path) == undisturbed
    assert len(calls) == 2 * N_TASKS


def test_a_task_that_kills_every_worker_is_one_clear_error(monkeypatch, tmp_path, undisturbed, calls):
    monkeypatch.setattr(running, "Parallel", Lossy([3, 0, 0, 0], LOSSES["loky"]))
    sentence = r"RidgeClassifier of parameter_search, fold \d, .*: workers were lost 3 times in a row"
    with pytest.raises(FitFailed, match=sentence) as error:
        study_of(cache=tmp_path)
    assert isinstance(error.value.__cause__, BrokenProcessPool)
    monkeypatch.undo()
    assert study_of(cache=tmp_path) == undisturbed
    assert len(records(tmp_path)) == N_TASKS


def test_other_errors_of_the_backend_are_raised_at_once(monkeypatch):
    monkeypatch.setattr(running, "Parallel", Lossy([3, 2], TimeoutError("no workers")))
    with pytest.raises(TimeoutError, match="no workers"):
        study_of()


# -------------------------------------------------------------------------------------- tasks that raise


class Unprintable(Exception):
    def __repr__(self):
        raise RuntimeError("no name")


class Raising(RidgeClassifier):
    """Raises in one of its fits."""

    error: BaseException

    def fit(self, X, y):
        if self.alpha == 10:
            raise self.error
        return super().fit(X, y)


@pytest.mark.parametrize(
    "error",
    [SystemExit(0), Unprintable(), MemoryError(), GeneratorExit()],
    ids=lambda error: type(error).__name__,
)
def test_any_error_of_a_fit_is_named(error, monkeypatch):
    monkeypatch.setattr(Raising, "error", error, raising=False)
    message = rf"fold 0, with {{'alpha': 10.0}} failed: {type(error).__name__}"
    with pytest.raises(FitFailed, match=message):
        study_of(Raising())


def test_an_interrupt_is_not_a_failure_of_a_fit(monkeypatch):
    monkeypatch.setattr(Raising, "error", KeyboardInterrupt(), raising=False)
    with pytest.raises(KeyboardInterrupt):
        study_of(Raising())
