"""The benchmark of the command line measures both programs."""

import shutil

import benchmark_command_line
import pytest


def test_it_prints_a_row_for_each_file(tmp_path, capsys):
    if shutil.which("liblinear-train") is None:
        pytest.skip("liblinear-train is not installed")
    path = tmp_path / "tiny.svm"
    path.write_text("1 1:2 2:1\n-1 1:-1\n" * 10)
    benchmark_command_line.main([str(path), "--repeats", "1"])
    row = capsys.readouterr().out.splitlines()[-1]
    name, ours, theirs, ratio = (cell.strip() for cell in row.strip("|").split("|"))
    assert name == "tiny" and float(ours.rstrip(" s")) > 0 and float(ratio) > 0


def test_without_the_other_program_it_says_what_to_install(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(SystemExit):
        benchmark_command_line.main(["none.svm"])
    assert "apt install liblinear-tools" in capsys.readouterr().err
