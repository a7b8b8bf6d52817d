"""Files are whole or absent, even after an error."""

import os
import stat

import pytest

from margins.cli import files
from margins.cli.errors import CommandError


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_a_new_file_has_the_permissions_of_the_process(tmp_path):
    path = tmp_path / "new"
    before = os.umask(0o027)
    try:
        files.write_whole(str(path), b"abc")
    finally:
        os.umask(before)
    assert path.read_bytes() == b"abc" and stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_a_file_that_is_replaced_keeps_its_permissions_and_its_link(tmp_path):
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_bytes(b"old")
    path.chmod(0o600)
    link.symlink_to(path)
    files.write_whole(str(link), b"new")
    assert link.is_symlink() and path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("length", [241, 255])
def test_a_name_may_be_as_long_as_the_file_system_allows(tmp_path, length):
    path = tmp_path / ("m" * length)
    files.check_writable(str(path))
    assert os.listdir(tmp_path) == []
    for contents in (b"one", b"two"):
        files.write_whole(str(path), contents)
        assert path.read_bytes() == contents and os.listdir(tmp_path) == [path.name]


def test_a_name_that_cannot_be_written_fails_before_any_work(run, tmp_path):
    result = run("train", "none.svm", tmp_path / ("m" * 256))
    assert result.code == 3 and "mmm: cannot be written: File name too long" in result.err


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError("disk full")])
def test_what_fails_half_way_leaves_the_old_file(tmp_path, monkeypatch, error):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail(*_):
        raise error

    monkeypatch.setattr(files.os, "replace", fail)
    with pytest.raises((KeyboardInterrupt, CommandError)):
        files.write_whole(str(path), b"new")
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["file"]


def test_a_device_is_written_directly():
    files.check_writable(os.devnull)
    files.write_whole(os.devnull, b"abc")
    assert not os.path.isfile(os.devnull)


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="no names of open files")
def test_a_pipe_is_written_by_the_name_of_its_open_end():
    read, write = os.pipe()
    try:
        files.check_writable(f"/dev/fd/{write}")
        files.write_whole(f"/dev/fd/{write}", b"abc")
        assert os.read(read, 10) == b"abc"
    finally:
        os.close(read)
        os.close(write)


def test_damaged_compressed_files_are_reported(tmp_path):
    for begin in files.COMPRESSED:
        path = tmp_path / "damaged"
        path.write_bytes(begin + b"\x08\x00 no such contents")
        with pytest.raises(CommandError, match="is damaged") as caught:
            files.contents_of(str(path))
        assert caught.value.exit_code == 3
