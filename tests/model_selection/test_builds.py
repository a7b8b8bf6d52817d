"""Code of installed packages is named by the contents of its files."""

import base64
import hashlib
import importlib
import os
import shutil
import subprocess
import sys
import time
import types
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import RidgeClassifier

import margins
from margins.model_selection import builds, parameter_search
from margins.model_selection.builds import ChangedCode, build_of, is_users
from margins.model_selection.digests import digest

X = np.arange(24.0).reshape(12, 2)
y = np.array([0, 1] * 6)
CLASS = """
from sklearn.linear_model import RidgeClassifier
from users_plug_in.helper import FACTOR
class Ridge(RidgeClassifier):
    def decision_function(self, X):
        return FACTOR * super().decision_function(X)
"""
LONG_AGO = time.time() - 10**6


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (LONG_AGO, LONG_AGO))


@pytest.fixture
def plug_in(tmp_path, monkeypatch):
    """The folder of a plug-in, and a function that gives the digest of its class."""
    folder = tmp_path / "site-packages" / "users_plug_in"
    write(folder / "__init__.py", CLASS)
    write(folder / "helper.py", "FACTOR = 1\n")
    write(folder / "_compiled.pyx", "FACTOR = 1\n")
    monkeypatch.syspath_prepend(folder.parent)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(builds, "_digested", set())
    monkeypatch.setattr(builds, "_build_of_package", builds._build_of_package.__wrapped__)

    def found():
        forget()
        return digest(importlib.import_module("users_plug_in").Ridge)

    def forget():
        importlib.invalidate_caches()
        for name in [name for name in sys.modules if name.startswith("users_plug_in")]:
            del sys.modules[name]

    yield folder, found
    forget()


def test_every_file_of_a_plug_in_counts_but_sources_of_compiled_ones(plug_in):
    folder, found = plug_in
    first = found()
    assert found() == first
    write(folder / "_compiled.pyx", "FACTOR = 2\n")
    assert found() == first
    write(folder / "helper.py", "FACTOR = 2\n")
    second = found()
    assert second != first
    write(folder / "table.json", "[1]")
    third = found()
    assert third not in (first, second)
    write(folder / "helper.py", "FACTOR = 1\n")
    os.remove(folder / "table.json")
    assert found() == first


def install(folder, name="users-plug-in"):
    """Metadata, as installers write them."""
    info = folder.parent / f"{name.replace('-', '_')}-1.0.dist-info"
    lines = []
    for path in folder.glob("*.py"):
        code = base64.urlsafe_b64encode(hashlib.sha256(path.read_bytes()).digest()).decode().rstrip("=")
        lines.append(f"{folder.name}/{path.name},sha256={code},{path.stat().st_size}")
    lines.append(f"{info.name}/RECORD,,")
    write(info / "METADATA", f"Name: {name}\nVersion: 1.0\nRequires-Dist: numpy>=1\n")
    write(info / "top_level.txt", "users_plug_in\n")
    (info / "RECORD").write_text("\n".join(lines))
    later = time.time() + 10  # than the change of the files' status
    os.utime(info / "RECORD", (later, later))


@pytest.mark.parametrize("name", ["users-plug-in", "another-name"])
def test_recorded_contents_are_not_read_again_but_edited_ones_are(name, plug_in, monkeypatch):
    folder, found = plug_in
    install(folder, name)
    read, digest_of_file = [], builds._digest_of_file
    monkeypatch.setattr(
        builds, "_digest_of_file", lambda path: read.append(Path(path).name) or digest_of_file(path)
    )
    first = found()
    assert not read
    record = next(folder.parent.glob("*.dist-info")) / "RECORD"
    os.utime(record, (LONG_AGO, LONG_AGO))  # as if every file had been touched since
    assert found() == first and sorted(read) == ["__init__.py", "helper.py"]
    write(folder / "helper.py", "FACTOR = 2\n")
    assert found() != first


def test_versions_of_what_a_plug_in_requires_count(plug_in, monkeypatch):
    folder, found = plug_in
    without = found()
    install(folder)
    first = found()
    assert without != first
    monkeypatch.setattr(
        builds.metadata, "distribution", lambda name: types.SimpleNamespace(version="0.0", requires=None)
    )
    assert found() != first


def test_an_edited_build_of_this_library_finds_nothing(tmp_path, monkeypatch):
    copy = tmp_path / "margins"
    shutil.copytree(margins.__path__[0], copy, ignore=shutil.ignore_patterns("__pycache__", "*.c*p*"))
    for path in Path(margins.__path__[0]).glob("_update*.so"):
        shutil.copy2(path, copy)
    build = builds._build_of_package.__wrapped__
    monkeypatch.setattr(margins, "__path__", [str(copy)])
    found = [build("margins")]
    (copy / "_update.pyx").write_text("")
    assert build("margins") == found[0]
    for path in (copy / "registry.py", *copy.glob("_update*.so")):
        with open(path, "ab") as file:
            file.write(b"\n")
        found.append(build("margins"))
    assert len(set(found)) == 3


def test_the_build_is_part_of_every_key(tmp_path, monkeypatch):
    options = {"cv": 3, "random_state": 0, "cache": tmp_path}
    for build in ("one", "other"):
        monkeypatch.setattr("margins.model_selection.engine.build_of", lambda name, build=build: build)
        parameter_search(RidgeClassifier(), {"alpha": [1.0]}, X, y, **options)
    assert len(list(tmp_path.glob("??/*.json"))) == 6


def test_code_that_was_changed_while_it_runs_is_rejected_only_with_a_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(builds, "STARTED", 0.0)
    monkeypatch.setattr(builds, "_digested", {"margins"})
    options = {"cv": 3, "random_state": 0}
    sentence = (
        "cache of parameter_search must be None: .*'margins'.* was changed after this process began"
    )
    with pytest.raises(ChangedCode, match=sentence):
        parameter_search(RidgeClassifier(), {"alpha": [1.0]}, X, y, **options, cache=tmp_path)
    parameter_search(RidgeClassifier(), {"alpha": [1.0]}, X, y, **options)


def test_origins_of_modules():
    assert [
        is_users(name) for name in ("margins.registry", "sklearn.svm", "pytest", "json", "builtins")
    ] == [False] * 5
    assert is_users("__main__") and is_users(None) and is_users(__name__)
    assert build_of("json.decoder") == build_of("builtins") == build_of("sklearn.svm") == ""
    assert len(build_of("pytest")) == len(build_of("margins.algorithms.pam")) == 64


def test_builds_are_the_same_in_every_process():
    answer = subprocess.run(
        [
            sys.executable,
            "-c",
            "from margins.model_selection.builds import build_of as b; print(b('margins'))",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout.strip() == build_of("margins")


def test_large_files_are_named_by_size_and_time(tmp_path):
    path = tmp_path / "large.bin"
    path.touch()
    os.truncate(path, builds.LARGE + 1)
    first = builds._digest_of_file(path)
    os.utime(path, (LONG_AGO, LONG_AGO))
    assert builds._digest_of_file(path) != first
