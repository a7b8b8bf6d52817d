"""The script that breaks the package in one place at a time."""

from contextlib import contextmanager
from itertools import islice

import mutants
import pytest
from mutants import Mutant


def changes_of(line):
    """The line with each of its tokens exchanged."""
    found = mutants.places(line + "\n").get(1, [])
    return [line[:start] + new + line[end:] for start, end, new in found]


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


def test_a_mutant_of_other_results_is_found_where_its_line_is_now():
    path = "margins/certificate.py"
    lines = (mutants.ROOT / path).read_text(encoding="utf-8").splitlines()
    number = next(n for n, line in enumerate(lines, start=1) if "return cls(" in line)
    record = {"path": path, "line": number + 7, "before": lines[number - 1], "after": "return 1"}
    assert mutants.located(record) == Mutant(path, number, lines[number - 1], "return 1")
    with pytest.raises(SystemExit, match="Got no such line"):
        mutants.located({**record, "before": "no such line"})


def test_a_change_is_tested_by_the_tests_of_its_module_or_package_first():
    assert mutants.tests_of(mutants.ROOT, "margins/_update.pyx") == ["tests/test_update.py"]
    assert mutants.tests_of(mutants.ROOT, "margins/certificate.py") == ["tests/test_certificates.py"]
    assert mutants.tests_of(mutants.ROOT, "margins/solvers/newton/newton.py") == ["tests/solvers"]


class ToyCopy(mutants.Copy):
    """A copy whose tests are functions of the changed lines."""

    def __init__(self, tests):
        self.tests, self.lines = tests, ()
        self.n_runs = 0

    @contextmanager
    def changed(self, changes):
        self.lines = {change.line for change in changes}
        yield True
        self.lines = set()

    def failing(self, tests, *options):
        self.n_runs += 1
        if 13 in self.lines:
            return ["the limit of time"]
        return [name for name in tests or self.tests if self.tests[name] & self.lines]


def test_mutants_made_together_are_told_apart_by_the_tests_that_fail():
    copy = ToyCopy({"a.py::one": {1, 2}, "b.py::two": {2}, "b.py::three": {9}})
    changes = [Mutant("x.py", line, "a", "b") for line in (1, 2, 3)]
    assert list(copy.finds_together(changes).values()) == ["a.py::one", "a.py::one", ""]
    assert copy.n_runs == 4


def test_a_mutant_that_stops_all_tests_does_not_hide_the_others():
    copy = ToyCopy({"a.py::one": {1}})
    changes = [Mutant("x.py", line, "a", "b") for line in (1, 2, 13)]
    assert list(copy.finds_together(changes).values()) == ["a.py::one", "", "the limit of time"]


def test_results_are_counted_by_part(capsys):
    mutants.report([{"part": "solvers", "found by": "a test"}, {"part": "solvers", "found by": ""}])
    output = capsys.readouterr().out
    assert "solvers        1 of 2 found" in output and "all            1 of 2 found" in output
