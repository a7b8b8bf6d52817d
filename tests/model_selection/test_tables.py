"""Tables for papers: everything is escaped, and numbers are printed as what they are."""

import shutil
import subprocess

import numpy as np
import pytest

import margins
from margins.model_selection import compare, parameter_search
from margins.model_selection.ranks import Ranking

pytest.importorskip("jinja2")
pytest.importorskip("tabulate")

X = np.array([[1.0, 2], [2, 1], [-1, -1], [-2, 0], [2, 2], [0, -2]])
y = np.array([1, 1, 0, 0, 1, 0])
SPECIALS = r"50% a_b #1 & $x$ {y} ~ ^ \z"
ESCAPED = r"50\% a\_b \#1 \& \$x\$ \{y\} "


@pytest.fixture(scope="module")
def study():
    grid = {"C": [1, 0.00001, 1000000], "class_weight": [{0: 2, 1: 1}, None]}
    return parameter_search(margins.MarginClassifier(), grid, X, y, cv=2, random_state=0)


@pytest.fixture(scope="module")
def tables(study):
    comparison = compare({SPECIALS: study, "[b]|": study})
    scores = [[0.5, 0.25], [1.0, 0.125]]
    return study, comparison, Ranking(scores, [SPECIALS, "*p|q_r*"], ["[s]", "50"])


def lines_of(text):
    """The rows of a table in LaTeX, or those of Markdown under the header."""
    return [line.split(r"\\")[0].strip() for line in text.splitlines() if "&" in line]


def cells_of(text):
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()]


def test_headers_and_names_are_escaped_in_latex(tables):
    study, comparison, ranking = (table.to_latex() for table in tables)
    assert lines_of(study)[0].startswith(r"fold & param\_C & param\_class\_weight & accuracy & n\_train")
    assert lines_of(comparison)[1].startswith(ESCAPED)
    assert ESCAPED in lines_of(ranking)[0]
    for text in (study, comparison, ranking):
        assert "%" not in text.replace(r"\%", "") and "_" not in text.replace(r"\_", "")


def test_a_name_is_not_an_argument_of_the_row_before(tables):
    rows = lines_of(tables[2].to_latex())
    assert rows[1] == "{}[s] & 0.5000 & 0.2500" and rows[2] == "50 & 1.0000 & 0.1250"


def test_options_of_pandas_are_kept(tables):
    assert r"\caption{A $\tau$}" in tables[0].to_latex(caption=r"A $\tau$")
    assert "param_C" in tables[0].to_latex(escape=False)
    assert lines_of(tables[2].to_latex(float_format="%.1f"))[1] == "{}[s] & 0.5 & 0.2"
    assert "1000000.0 " in tables[0].to_latex("settings", columns=["param_C"], float_format="%.1f")


def test_parameters_are_printed_as_they_are(study):
    rows = [line.split(" & ") for line in lines_of(study.to_latex("settings"))]
    of_c = rows[0].index(r"param\_C")
    assert [row[of_c] for row in rows[1::2]] == ["1", "1e-05", "1000000"]
    assert [row[of_c + 1] for row in rows[1:3]] == [r"\{0: 2, 1: 1\}", "None"]
    header, _, *rows = cells_of(study.to_markdown("settings"))
    of_c = header.index("param_C")
    assert [row[of_c] for row in rows[::2]] == ["1", "1e-05", "1000000"]


def test_integers_stay_integers_in_both_forms(study):
    header, *rows = (line.split(" & ") for line in lines_of(study.to_latex()))
    at = header.index(r"n\_train")
    assert [row[at] for row in rows] == ["3", "3"]
    header, _, *rows = cells_of(study.to_markdown())
    at = header.index("n_train")
    assert [row[at] for row in rows] == ["3", "3"]


def test_a_name_adds_no_column_to_markdown(tables):
    text = tables[2].to_markdown()
    assert r"\*p\|q_r\*" in text
    assert [line.replace(r"\|", "").count("|") for line in text.splitlines()] == [4] * 5
    assert text.splitlines()[3].startswith("| 50 ")
    assert r"\[b\]\|" in tables[1].to_markdown()
    assert "  *p|q_r* |" in tables[2].to_markdown(tablefmt="orgtbl")


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_typesets_the_tables(tables, tmp_path):
    body = "\n\n".join(table.to_latex() for table in tables)
    document = (
        rf"\documentclass{{article}}\usepackage{{booktabs}}\begin{{document}}{body}\end{{document}}"
    )
    (tmp_path / "t.tex").write_text(document)
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "t.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
