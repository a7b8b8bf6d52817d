"""Standard output that nothing takes is an error of every command that prints; one of ASCII is not."""

import json
import os
import subprocess
import sys
from pathlib import Path

import forked_commands
import pytest
from cli.conftest import samples, write_svmlight
from other_process import printed_by

from margins.cli.app import main

pytestmark = pytest.mark.skipif(os.name == "nt", reason="descriptors of POSIX")
PRINTING = (
    "list",
    "list --json",
    "describe pdm",
    "--help",
    "--version",
    "evaluate m.skops train.svm",
    "evaluate m.skops train.svm --json",
    "predict m.skops train.svm",
    "predict m.skops train.svm new.txt --json",
    "explain train.svm",
    "path train.svm --points 2",
    "compare train.svm pam auto --folds 2",
    "study train.svm -g C=1 --outer 2 --inner 2 -o new.json",
    "train train.svm new.skops",
    "train train.svm new.skops -q --json",
)
UNREAD = PRINTING[:8:2]
SILENT = ("train train.svm n.skops -q", "predict m.skops train.svm n.txt -q")
ACCENTED = "train train.svm mod\u00e8le.skops"
CLOSED = "margins: standard output: cannot be written: Bad file descriptor\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("commands") / "folder"
    path.mkdir()
    write_svmlight(path / "train.svm", *samples())
    assert main(["train", str(path / "train.svm"), str(path / "m.skops"), "-q"]) == 0
    return path


@pytest.fixture(scope="module")
def ends(folder):
    """The exit code, what was written and the files, by output and command: dict."""
    runs = [("closed", command) for command in PRINTING + SILENT]
    runs += [("unread", command) for command in UNREAD] + [("ascii", ACCENTED)]
    program = [
        Path(forked_commands.__file__),
        folder,
        json.dumps([[output, command.split()] for output, command in runs]),
    ]
    return dict(zip(runs, json.loads(printed_by(*program, PYTHONUTF8="1")), strict=True))


@pytest.mark.parametrize("command", PRINTING)
def test_a_closed_output_is_an_error_before_any_work(ends, command):
    assert ends["closed", command] == [3, CLOSED, ["m.skops", "train.svm"]]


@pytest.mark.parametrize("command", UNREAD)
def test_a_pipe_without_a_reader_ends_a_command_as_it_ends_unix_tools(ends, command):
    assert ends["unread", command][:2] == [141, ""]


@pytest.mark.parametrize("command", SILENT)
def test_a_command_that_prints_nothing_needs_no_output(ends, command):
    assert ends["closed", command][:2] == [0, ""]


def test_processes_end_as_forks_do(folder):
    command = [sys.executable, "-m", "margins", "--version"]
    options = {"stderr": subprocess.PIPE, "text": True, "timeout": 120, "check": False}
    done = subprocess.run(command, preexec_fn=lambda: os.close(1), **options)
    assert (done.returncode, done.stderr) == (3, CLOSED)
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(command, stdout=writer, **options)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def test_names_that_the_output_cannot_encode_are_printed_with_backslashes(ends):
    code, written, files = ends["ascii", ACCENTED]
    assert code == 0 and "mod\\xe8le.skops" in written and "mod\u00e8le.skops" in files
