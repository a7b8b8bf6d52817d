"""The fuzz of the readers: a sample of its files, and that it finds what is wrong."""

import os
import signal
import time

import pytest

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

import fuzz_readers as fuzz
import reader_cases as cases


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", cases.FORMATS)
def test_readers_agree_on_a_sample_of_damaged_files(tmp_path, kind):
    path, columns = str(tmp_path / "file"), []
    for index in range(999_999 + cases.FORMATS.index(kind), 1_000_449, 3):
        outcome = cases.outcome_of(*cases.case_of(0, index), path)
        assert (outcome.format, outcome.fault) == (kind, ""), index
        columns.append(outcome.column)
    assert columns.count("accepted by both") > 30 and columns.count("refused by both") > 30


@pytest.mark.filterwarnings("ignore")
def test_the_table_does_not_depend_on_processes_and_their_batches(tmp_path, monkeypatch, capsys):
    def in_this_process(seed, begin, end):
        path, numbers = str(tmp_path / "file"), range(begin, end)
        return [(number, cases.outcome_of(*cases.case_of(seed, number), path)) for number in numbers]

    outputs = []
    for run, jobs, batch in ((in_this_process, "1", 20), (fuzz.run, "2", 40)):
        monkeypatch.setattr(fuzz, "run", run)
        monkeypatch.setattr(fuzz, "BATCH", batch)
        assert fuzz.main(["--count", "40", "--jobs", jobs, "--save", str(tmp_path / "faults")]) == 0
        outputs.append(capsys.readouterr().out)
    table, summary = outputs[0].rsplit("\n", 2)[:2]
    assert outputs[1].startswith(table) and summary.startswith("40 files, 0 with faults")
    assert not (tmp_path / "faults").exists()


def crash(seed, begin, end, sender):
    for index in range(begin, end):
        if index == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        if index == 5:
            time.sleep(60)
        sender.send(cases.Outcome("csv", "accepted by both"))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of a fork next to threads
@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signal, and no fork")
def test_a_reader_that_ends_its_process_or_hangs_is_found(monkeypatch):
    monkeypatch.setattr(fuzz, "SECONDS", 1)
    outcomes = fuzz.run(0, 1, 7, target=crash, method="fork")
    assert [index for index, _ in outcomes] == [1, 2, 3, 4, 5, 6]
    faults = {index: outcome.fault for index, outcome in outcomes if outcome.fault}
    assert list(faults) == [3, 5] and "exit code -9" in faults[3] and "more than 1 seconds" in faults[5]


def test_a_fault_is_saved_and_the_status_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(fuzz, "run", lambda *_: [(7, cases.Outcome("csv", "differing", "x: 1, not 2"))])
    assert fuzz.main(["--count", "1", "--save", str(tmp_path), "--seed", "5", "--jobs", "1"]) == 1
    assert (tmp_path / "5-7.csv").read_bytes() == cases.case_of(5, 7)[1]
    assert "--seed 5 --begin 7 --count 1" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("broken", "fault"),
    [
        (lambda samples: samples._replace(y=samples.y[::-1]), "not"),
        (lambda samples: samples._replace(X=samples.X.assign(x=-samples.X["x"])), "x: -1.0, not 1"),
        (lambda samples: samples._replace(X=samples.X.assign(c="q")), "c: 'q', not 'p'"),
        (lambda samples: 1 / 0, "ZeroDivisionError"),
        (lambda samples: int("x"), "the error does not begin with the path|ValueError"),
    ],
)
def test_what_is_wrong_with_a_reader_is_found(tmp_path, monkeypatch, broken, fault):
    read = cases._ours
    monkeypatch.setattr(cases, "_ours", lambda kind, path: broken(read(kind, path)))
    monkeypatch.setattr(cases, "_in_chunks", lambda kind, path, ours: None)
    outcome = cases.outcome_of("csv", b"x,c,z,y\n1,p,2,a\n3,p,4,b\n", str(tmp_path / "file"))
    assert outcome.column == "differing" and any(text in outcome.fault for text in fault.split("|"))


@pytest.mark.filterwarnings("ignore")
def test_what_others_refuse_needs_a_note(tmp_path, monkeypatch):
    path = str(tmp_path / "file")

    def outcome(contents):
        return cases.outcome_of("svmlight", contents, path)[1:]

    assert outcome(b"1 cost:2 1:3\n") == ("ours only", "")
    assert outcome(b"\xef\xbb\xbf1 1:3\n") == ("accepted by both", "")
    read = cases._ours
    monkeypatch.setattr(cases, "_ours", lambda kind, path: read(kind, path)._replace(notes=""))
    assert outcome(b"1 cost:2 1:3\n") == ("ours only", "accepted, refused by the other")
