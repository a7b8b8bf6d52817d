"""The script that breaks the package in one place at a time."""

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
    assert mutants.tests_of(mutants.ROOT, "margins/solvers/newton/newton.py") == ["tests/solvers"]


def test_results_are_counted_by_part(capsys):
    mutants.report([{"part": "solvers", "found by": "a test"}, {"part": "solvers", "found by": ""}])
    output = capsys.readouterr().out
    assert "solvers        1 of 2 found" in output and "all            1 of 2 found" in output
