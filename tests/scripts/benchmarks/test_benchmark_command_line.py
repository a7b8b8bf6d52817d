"""The benchmark of the command line measures both programs."""

import shutil
import sys

import benchmark_command_line
import pytest


def test_it_prints_the_least_seconds_of_both_for_each_file(monkeypatch, capsys):
    seconds = iter([0.5, 0.25, 0.75, 0.125])

    def seconds_of(command):
        commands.append(command)
        return next(seconds)

    commands = []
    monkeypatch.setattr(benchmark_command_line, "seconds_of", seconds_of)
    benchmark_command_line.main(["data/tiny.svm", "--repeats", "2", "--liblinear", "their-train"])
    assert capsys.readouterr().out.splitlines()[-1] == "| tiny | 0.500 s | 0.125 s | 4.00 |"
    ours, theirs = commands[:2]
    assert ours[0].name == "margins" and ours[1:4] == ["train", "-q", "data/tiny.svm"]
    assert theirs[:3] == ["their-train", "-q", "data/tiny.svm"] and commands[2:] == commands[:2]


def test_seconds_are_those_of_a_child():
    idle = benchmark_command_line.seconds_of(
        [sys.executable, "-S", "-c", "import time; time.sleep(0.3)"]
    )
    busy = benchmark_command_line.seconds_of([sys.executable, "-S", "-c", "sum(range(10**7))"])
    assert 0 <= idle < 0.2 and busy > idle


@pytest.mark.slow
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
