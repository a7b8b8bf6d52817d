"""Standard output that nothing takes is an error of every command that prints; one of ASCII is not."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="descriptors of POSIX")
PRINTING = (
    ("list",),
    ("list", "--json"),
    ("describe", "pdm"),
    ("--help",),
    ("--version",),
    ("evaluate", "m.skops", "train.svm"),
    ("evaluate", "m.skops", "train.svm", "--json"),
    ("predict", "m.skops", "train.svm"),
    ("predict", "m.skops", "train.svm", "new.txt", "--json"),
    ("explain", "train.svm"),
    ("path", "train.svm", "--points", "2"),
    ("compare", "train.svm", "pam", "auto", "--folds", "2"),
    ("study", "train.svm", "-g", "C=1", "--outer", "2", "--inner", "2", "-o", "new.json"),
    ("train", "train.svm", "new.skops"),
    ("train", "train.svm", "new.skops", "-q", "--json"),
)


@pytest.fixture
def folder(run, train_file, tmp_path):
    assert run("train", train_file, tmp_path / "m.skops").code == 0
    return tmp_path


def process(folder, arguments, **streams):
    command = [sys.executable, "-m", "margins", *arguments]
    return subprocess.run(
        command, cwd=folder, stderr=subprocess.PIPE, text=True, timeout=120, check=False, **streams
    )


@pytest.mark.parametrize("arguments", PRINTING, ids=" ".join)
def test_a_closed_output_is_an_error_before_any_work(folder, arguments):
    done = process(folder, arguments, preexec_fn=lambda: os.close(1))
    assert done.returncode == 3
    assert done.stderr == "margins: standard output: cannot be written: Bad file descriptor\n"
    assert sorted(os.listdir(folder)) == ["m.skops", "train.svm"]


@pytest.mark.parametrize("arguments", PRINTING[:8:2], ids=" ".join)
def test_a_pipe_without_a_reader_ends_a_command_as_it_ends_unix_tools(folder, arguments):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = process(folder, arguments, stdout=writer)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize(
    "arguments", [("train", "train.svm", "n.skops", "-q"), ("predict", "m.skops", "train.svm", "n.txt")]
)
def test_what_prints_nothing_needs_no_output(folder, arguments):
    done = process(folder, arguments, preexec_fn=lambda: os.close(1))
    assert (done.returncode, done.stderr) == (0, "")


def test_names_that_the_output_cannot_encode_are_printed_with_backslashes(folder):
    arguments = [sys.executable, "-m", "margins", "train", "train.svm", "mod\u00e8le.skops"]
    environment = {**os.environ, "PYTHONUTF8": "1", "PYTHONIOENCODING": "ascii:strict"}
    result = subprocess.run(
        arguments, cwd=folder, env=environment, capture_output=True, timeout=120, check=False
    )
    assert (result.returncode, result.stderr) == (0, b"")
    assert b"mod\\xe8le.skops" in result.stdout
    assert (folder / "mod\u00e8le.skops").exists()
