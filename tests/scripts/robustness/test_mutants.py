"""The script that breaks the package in one place at a time."""

from itertools import islice

import mutants
import pytest


def changes_of(line):
    """Return the line with each of its tokens exchanged."""
    exchanges = mutants.places(line + "\n").get(1, [])
    return [line[:start] + new + line[end:] for start, end, new in exchanges]


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ("if a < 2:", ["if a <= 2:", "if a < 3:"]),
        ("x = -y * 0.5", ["x = +y * 0.5", "x = -y / 0.5", "x = -y * 1.5"]),
        ("if not a and min(b):", ["if  a and min(b):", "if not a or min(b):", "if not a and max(b):"]),
        ("if a not in b or a is not c:", ["if a not in b and a is not c:"]),
        ("f(*a, **b, strict=True)", []),
        ('x = "a < 2"  # 3 < 4', []),
        ("from a import b", []),
        ("cdef double *x = y + 1", []),
        ("def f(a=1):", []),
    ],
)
def test_tokens_are_exchanged_outside_of_strings_and_declarations(line, changed):
    assert changes_of(line) == changed


def test_mutants_are_drawn_in_turn_from_every_part_and_by_the_seed():
    drawn = list(islice(mutants.drawn(seed=3), 2 * len(mutants.PARTS)))
    assert [part for part, _ in drawn] == 2 * list(mutants.PARTS)
    assert drawn == list(islice(mutants.drawn(seed=3), len(drawn)))
    for _, mutant in drawn:
        lines = (mutants.ROOT / mutant.path).read_text(encoding="utf-8").splitlines()
        assert lines[mutant.line - 1] == mutant.before != mutant.after


@pytest.mark.parametrize(("failing", "n_runs"), [("tests/solvers", 1), ("", 2)])
def test_all_tests_run_if_the_named_ones_find_nothing(tmp_path, monkeypatch, failing, n_runs):
    path, runs = "margins/solvers/auto.py", []
    (tmp_path / "margins/solvers").mkdir(parents=True)
    (tmp_path / "tests/solvers").mkdir(parents=True)
    (tmp_path / path).write_text("a = 1\nb = 2\n")
    copy = mutants.Copy.__new__(mutants.Copy)
    copy.folder = tmp_path

    def run(tests):
        runs.append((tests, (tmp_path / path).read_text()))
        return "a test" if failing in tests or (not failing and not tests) else ""

    monkeypatch.setattr(copy, "failing", run)
    assert copy.finds(mutants.Mutant(path, 2, "b = 2", "b = 3")) == "a test"
    assert runs == [(["tests/solvers"], "a = 1\nb = 3\n"), ([], "a = 1\nb = 3\n")][:n_runs]
    assert (tmp_path / path).read_text() == "a = 1\nb = 2\n"
    assert copy.finds(mutants.Mutant(path, 2, "b = 2", "b = (")) is None
