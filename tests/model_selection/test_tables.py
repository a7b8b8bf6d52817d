"""Tables for papers: everything is escaped, and numbers are printed as what they are."""

import re
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest

import margins
from margins.model_selection import Ranking, compare, parameter_search, rank

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
    assert lines_of(study)[0].startswith("fold & C & class weight & accuracy & training samples")
    assert lines_of(comparison)[1].startswith(ESCAPED)
    assert ESCAPED in lines_of(ranking)[0]
    for text in (study, comparison, ranking):
        assert "%" not in text.replace(r"\%", "") and "_" not in text.replace(r"\_", "")


def test_a_name_is_not_an_argument_of_the_row_before(tables):
    rows = lines_of(tables[2].to_latex())
    assert rows[1] == r"{}[s] & \textbf{0.5000} & 0.2500"
    assert rows[2] == r"50 & \textbf{1.0000} & 0.1250"


def test_options_of_pandas_are_kept(tables):
    assert r"\caption{A $\tau$}" in tables[0].to_latex(caption=r"A $\tau$")
    assert "[b]|" in tables[1].to_latex(escape=False)
    assert lines_of(tables[2].to_latex(float_format="%.1f"))[1] == r"{}[s] & \textbf{0.5} & 0.2"
    percent = tables[2].to_latex(float_format="{:.0%}".format)
    assert lines_of(percent)[1] == r"{}[s] & \textbf{50\%} & 25\%"
    percent = tables[0].to_latex("settings", columns=["C"], float_format="{:.0%}".format)
    assert r"100\% \\" in percent and "%" not in percent.replace(r"\%", "")
    assert "1000000.0 " in tables[0].to_latex("settings", columns=["C"], float_format="%.1f")


def test_parameters_are_printed_as_they_are(study):
    rows = [line.split(" & ") for line in lines_of(study.to_latex("settings"))]
    of_c = rows[0].index("C")
    assert [row[of_c] for row in rows[1::2]] == ["1", "1e-05", "1000000"]
    assert [row[of_c + 1] for row in rows[1:3]] == [r"\{0: 2, 1: 1\}", "None"]
    header, _, *rows = cells_of(study.to_markdown("settings"))
    of_c = header.index("C")
    assert [row[of_c] for row in rows[::2]] == ["1", "1e-05", "1000000"]


def test_integers_stay_integers_in_both_forms(study):
    header, *rows = (line.split(" & ") for line in lines_of(study.to_latex()))
    at = header.index("training samples")
    assert [row[at] for row in rows] == ["3", "3", ""]
    header, _, *rows = cells_of(study.to_markdown())
    at = header.index("training samples")
    assert [row[at] for row in rows] == ["3", "3", ""]


def test_a_name_adds_no_column_to_markdown(tables):
    text = tables[2].to_markdown()
    assert r"\*p\|q_r\*" in text
    assert [line.replace(r"\|", "").count("|") for line in text.splitlines()] == [4] * 5
    assert text.splitlines()[3].startswith("| 50 ")
    assert r"\[b\]\|" in tables[1].to_markdown()
    assert "| *p|q_r*   |" in tables[2].to_markdown(tablefmt="orgtbl")


def comparison_of(scores, metric="neg_log_loss"):
    """A comparison of studies a, b, c, ... with these scores of folds."""
    model = margins.MarginClassifier()
    grid = parameter_search(model, {}, np.tile(X, (2, 1)), np.tile(y, 2), cv=4, random_state=0)
    studies = {}
    for name, values in zip("abc", scores, strict=False):
        folds = [replace(f, scores={metric: v}) for f, v in zip(grid.folds, values, strict=True)]
        studies[name] = replace(grid, folds=folds, refit=metric)
    return compare(studies)


def test_the_best_and_those_not_worse_by_the_test_are_bold():
    comparison = comparison_of([[0.7, 0.8, 0.9, 1.0], [0.8, 0.7, 1.0, 0.8], [0.1, 0.2, 0.3, 0.4]])
    low, high = comparison.studies["a"].corrected_interval()
    heading, a, b, c = lines_of(comparison.to_latex())
    assert heading == r"algorithm & neg log loss (corrected 95 \% interval)"
    assert a == rf"a & \textbf{{0.850 ({low:.3f}, {high:.3f})}}"
    assert b.startswith(r"b & \textbf{0.825 (") and c.startswith("c & 0.250 (")
    assert f"| **0.8 ({low:.1f}, {high:.1f})** " in comparison.to_markdown(floatfmt=".1f")
    table = comparison.to_frame()
    assert table["may_be_best"].tolist() == [True, True, False]
    assert table["corrected_high"][0] == high
    assert [row.partition("(")[0] for row in lines_of(comparison.to_latex("pairs"))] == [
        "first & second & difference in neg log loss ",
        *("a & b & 0.025 ", "a & c & 0.600 ", "b & c & 0.575 "),
    ]


def test_no_table_has_a_negative_zero():
    comparison = comparison_of([[-1e-9] * 4, [0.0, 1e-9, 0.0, 1e-9]])
    study = comparison.studies["a"]
    texts = [comparison.summary(), study.summary(), repr(study)]
    ranking = Ranking([[-1e-9, 1.0], [0.5, -1e-9]], ["a", "b"], ["x", "y"])
    texts += [ranking.summary(), study.to_latex("settings")]
    for table in (comparison, study, ranking):
        texts += [table.to_latex(), table.to_markdown()]
    texts += [comparison.to_latex("pairs"), comparison.to_markdown("pairs")]
    for text in texts:
        assert re.findall(r"-0\.0+\b(?!e)", text) == [], text
    assert "0.0000" in texts[0] and "0.000 (0.000, 0.000)" in texts[-1]


def test_a_study_ends_with_its_mean(study):
    *_, last = lines_of(study.to_latex())
    mean, c, weight, accuracy, *_ = last.split(" & ")
    assert (mean, c, weight, accuracy) == ("mean", "", "", f"{study.mean():.4f}")
    assert len(study.to_frame()) == len(study.folds)


def test_headings_that_would_be_equal_stay_as_they_are(study):
    tables = [
        replace(table, scores={**table.scores, "C": table.scores["accuracy"]}) for table in study.tables
    ]
    header, *_ = lines_of(replace(study, tables=tables).to_latex("settings"))
    assert r" & param\_C & param\_class\_weight & accuracy & C & " in header


def test_a_ranking_of_studies_has_a_row_for_each_algorithm_on_each_data_set(study):
    other = parameter_search(margins.get("pam")(), {}, X, y, cv=2, random_state=0)
    ranking = rank({name: {"auto": study, "pam": other} for name in ("iris", "wine")})
    rows = lines_of(compare({"auto": study, "pam": other}).to_latex())
    expected = [f"{name} & {row}" for name in ("iris", "wine") for row in rows[1:]]
    assert lines_of(ranking.to_latex("algorithms"))[1:] == expected
    assert ranking.to_frame("algorithms")["data set"].tolist() == ["iris", "iris", "wine", "wine"]
    with pytest.raises(ValueError, match="of scores cannot be 'algorithms'. Use rank"):
        Ranking(ranking.scores, ["a", "b"], ["x", "y"]).to_latex("algorithms")


def test_the_summary_of_a_ranking_holds_scores_and_tests():
    scores = [[0.9, 0.8, 0.7], [0.8, 0.75, 0.7], [0.95, 0.9, 0.85], [0.6, 0.72, 0.5]]
    ranking = Ranking(scores, ["a", "b", "c"], list("wxyz"), "accuracy")
    lines = ranking.summary().splitlines()
    assert lines[0].split() == ["accuracy", "a", "b", "c"] and lines[1].split()[1] == "0.9000"
    assert lines[5].split() == ["mean", "rank", "1.2500", "1.7500", "3.0000"]
    assert f"p {ranking.friedman()[1]:.3g}" in lines[7]
    assert f"{ranking.critical_difference():.4f}" in lines[8]
    corrected = [f"{test.corrected_p_value:.4g}" for test in ranking.wilcoxon()]
    assert [line.split()[-1] for line in lines[-3:]] == corrected
    assert lines_of(ranking.to_latex("pairs"))[0].endswith("statistic & p value & corrected p value")
    # The critical difference is 1.66: c is 1.75 worse, b is not.
    assert lines_of(ranking.to_latex())[-1] == r"mean rank & \textbf{1.2500} & \textbf{1.7500} & 3.0000"


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_typesets_the_tables(tables, tmp_path):
    texts = [table.to_latex() for table in tables]
    texts += [tables[0].to_latex("settings"), *(table.to_latex("pairs") for table in tables[1:])]
    body = "\n\n".join(texts)
    document = (
        rf"\documentclass{{article}}\usepackage{{booktabs}}\begin{{document}}{body}\end{{document}}"
    )
    (tmp_path / "t.tex").write_text(document)
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "t.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
