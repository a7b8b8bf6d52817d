"""A command overwrites what it writes, nothing else without --force, and never what it reads."""

import os
import sys

import pytest

WRITING = {
    "train": ("train", "DATA", "OUTPUT"),
    "predict": ("predict", "MODEL", "DATA", "OUTPUT"),
    "export": ("export", "MODEL", "OUTPUT"),
    "study": ("study", "DATA", "-g", "C=1", "--outer", "2", "--inner", "2", "-q", "-o", "OUTPUT"),
}


@pytest.fixture
def write(run, train_file, tmp_path):
    """``write(command, output, ...)`` runs a command on the file d.svm and the model m.skops: Result."""
    train_file.rename(tmp_path / "d.svm")
    assert run("train", tmp_path / "d.svm", tmp_path / "m.skops").code == 0

    def command(name, output, *more):
        if name == "export":
            pytest.importorskip("skl2onnx")
        files = {"DATA": tmp_path / "d.svm", "MODEL": tmp_path / "m.skops", "OUTPUT": output}
        return run(*(files.get(each, each) for each in WRITING[name]), *more)

    return command


@pytest.mark.parametrize("name", WRITING)
@pytest.mark.parametrize("contents", [b"1 1:1\n-1 1:-1\n", b"1\n-1\n", b"PK\x03\x04", b'{"a": 1}'])
def test_a_file_of_something_else_is_overwritten_by_force_alone(write, tmp_path, name, contents):
    if name == "predict":
        contents += b"2\n"  # no label of the model
    output = tmp_path / "other.skops"
    output.write_bytes(contents)
    result = write(name, output)
    assert result.code == 3 and "--force" in result.err and str(output) in result.err
    assert output.read_bytes() == contents
    assert write(name, output, "--force").code == 0 and output.read_bytes() != contents


@pytest.mark.parametrize("name", ["train", "export", "study"])
def test_an_earlier_output_is_replaced(write, tmp_path, name):
    output = tmp_path / "new"
    assert write(name, output).code == write(name, output).code == 0


def test_predictions_and_empty_files_are_replaced(write, tmp_path):
    output = tmp_path / "new"
    output.touch()
    assert write("predict", output).code == 0
    before = output.read_bytes()
    assert write("predict", output, "--scores").code == 0 and output.read_bytes() != before
    assert write("predict", output).code == 0 and output.read_bytes() == before


@pytest.mark.parametrize("link", [None, os.link, os.symlink])
@pytest.mark.parametrize(
    ("name", "read"),
    [
        *(("train", "d.svm"), ("study", "d.svm"), ("export", "m.skops")),
        *(("predict", "d.svm"), ("predict", "m.skops")),
    ],
)
def test_no_input_is_overwritten(write, tmp_path, name, read, link):
    path = output = tmp_path / read
    before = path.read_bytes()
    if link is not None:
        output = tmp_path / "link"
        link(path, output)
    for more in ((), ("--force",)):
        result = write(name, output, *more)
        assert result.code == 3 and f"{output}: cannot be written: it is the input {path}" in result.err
        assert path.read_bytes() == before and os.path.samefile(path, output)


def test_standard_input_and_output_may_be_files(run, write, tmp_path, monkeypatch):
    data = tmp_path / "d.svm"
    before = data.read_bytes()
    with data.open() as file:
        monkeypatch.setattr(sys, "stdin", file)
        result = run("train", "-", data, "--force")
    assert result.code == 3 and "it is the input -" in result.err
    with data.open("a") as file:
        monkeypatch.setattr(sys, "stdout", file)
        result = run("predict", tmp_path / "m.skops", data)
    assert result.code == 3 and f"-: cannot be written: it is the input {data}" in result.err
    assert data.read_bytes() == before


def test_none_of_several_files_is_overwritten(run, tmp_path):
    files = [tmp_path / "p1.svm", tmp_path / "p2.svm"]
    for path in files:
        path.write_text("1 1:1\n-1 1:-1\n")
    assert run("train", *files).code == 3
    for more in ((), ("--force",), ("--stream",)):
        result = run("train", *files, "-o", files[1], *more)
        assert result.code == 3 and f"it is the input {files[1]}" in result.err
    assert run("train", files[0], tmp_path / "m.skops").code == 0
    assert run("predict", tmp_path / "m.skops", *files).code == 3
    assert files[1].read_text() == "1 1:1\n-1 1:-1\n"
