"""The reproductions of papers on maximum margins: their command line, JSON, and measures."""

import contextlib
import functools
import io
import json
import os

import numpy as np
import pytest
import real_data
import reporting
import reproduce
import soft_margins
from problems import noisy
from sklearn.svm import LinearSVC

import margins

SET = "promoters"
PAPERS = ("maximum-margin", "soft-margin")
needs_data = pytest.mark.skipif(
    not (os.environ.get("MARGINS_DATA") and SET in real_data.available()),
    reason=f"MARGINS_DATA does not lead to {SET}: the real data sets are not part of the project",
)


def read(file):
    """Return the results of the one data set in a JSON file."""
    report = json.loads(file.read_text())
    assert set(report) == {"source", "environment", "arguments", "data_sets"}
    assert str(file.parent) not in file.read_text()
    (result,) = report["data_sets"]
    assert (result["data"], result["n_samples"], result["n_features"]) == (SET, 106, 228)
    return result


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory):
    """Reproduce a paper once: paper -> the output and the results."""

    @functools.cache
    def run(paper):
        file = tmp_path_factory.mktemp("reproduced") / "results.json"
        output, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            reproduce.main([paper, "--quick", "--data", SET, "--json", str(file)])
        assert errors.getvalue() == ""
        return output.getvalue(), read(file)

    return run


@needs_data
def test_maximum_margin_reports_every_algorithm_within_its_bounds(reproduced):
    output, result = reproduced("maximum-margin")
    low, high = result["maximum"]
    assert 0.99 * high < low <= high * (1 + 1e-9)
    assert [row["algorithm"] for row in result["table_1"]] == ["pdm", "pfm", "pdm-succ", "pfm(2)"]
    assert [row["algorithm"] for row in result["table_2"]] == [
        *("mpu", "LinearSVC", "LinearSVC, 0.01", "aggressive-romma", "pdm", "pdm-succ", "mpcs", "mpvs")
    ]
    for row in result["table_1"] + result["table_2"]:
        assert row["algorithm"] in output
        assert row["paper"] is None and row["mark"] == "" and row["warning"] is None
        assert 0.99 * low * (1 - 1e-9) <= row["margin"] <= high * (1 + 1e-9)
        assert row["seconds"] > 0
        if row["algorithm"].startswith("LinearSVC"):
            assert row["good"] and row["tol"] in (10, 1, 0.1, 0.01)
        else:
            assert row["converged"] and row["n_updates"] > 0
    assert result["table_2"][1]["ratio"] == 1
    assert result["table_2"][2]["tol"] == 0.01


@needs_data
def test_margins_computed_from_the_solution_equal_the_certified_margins(reproduced):
    _, result = reproduced("maximum-margin")
    for row in result["table_2"]:
        if "LinearSVC" not in row["algorithm"]:
            assert row["margin"] == pytest.approx(row["certified_margin"], rel=1e-6)
    for row in result["table_1"]:
        # The certificate has each slack at its best; the paper's margin, as the run has accumulated it.
        if row["algorithm"].startswith("pdm"):
            assert 0.98 <= row["margin"] / row["certified_margin"] <= 1 + 1e-9
        else:
            assert row["margin"] > row["beta"]


@needs_data
def test_soft_margin_reports_objectives_within_the_proven_gaps(reproduced):
    output, result = reproduced("soft-margin")
    low, high = result["optimum"]
    assert 0 < low <= high * (1 + 1e-9)
    first, second = result["table_1"], result["table_2"]
    assert [row["algorithm"] for row in first] == ["mpu", "mpu, b for 1e-4", "LinearSVC"]
    assert [row["algorithm"] for row in second] == ["mpu", "LinearSVC"]
    for row in first + second:
        assert row["algorithm"] in output
        assert row["mark"] == ""
        if row["algorithm"] == "LinearSVC":
            assert row["good"] and row["J"] <= row["target"]
        else:
            assert row["gap"] <= row["eps"]
            assert row["J"] == pytest.approx(row["certified_J"], rel=1e-9)
            assert row["J"] <= (1 + row["gap"]) * row["dual"] * (1 + 1e-9)


@needs_data
@pytest.mark.parametrize("paper", PAPERS)
def test_a_fit_without_its_proof_is_marked(paper, tmp_path, capfd):
    file = tmp_path / "results.json"
    options = ["--quick", "--max-iter", "1", "--repeats", "2", "--data", SET]
    reproduce.main([paper, *options, "--json", str(file)])
    captured, result = capfd.readouterr(), read(file)
    unproven = [row for row in result["table_1"] + result["table_2"] if row["warning"]]
    assert unproven and all("!" in row["mark"] for row in unproven)
    assert sum(line.endswith(("!", "!<")) for line in captured.out.splitlines()) == len(unproven)
    assert captured.err == ""


def test_soft_margin_does_not_depend_on_the_length_of_the_weight_vector():
    X, y = noisy(60, 4)
    fit = reporting.timed_fit(lambda: LinearSVC(C=0.5, tol=1e-10, max_iter=100_000), X, y)
    best = soft_margins.extended_margin(fit, 0.5)
    slack = np.maximum(1 - fit.scores, 0)
    weights = np.append(fit.classifier.coef_, fit.classifier.intercept_)
    assert best == pytest.approx((weights @ weights + 2 * 0.5 * slack @ slack) ** -0.5, rel=1e-9)
    fit.classifier.coef_ *= 3
    fit.classifier.intercept_ *= 3
    assert soft_margins.extended_margin(fit, 0.5) == pytest.approx(best, rel=1e-12)
    fit.classifier.coef_ *= -1
    fit.classifier.intercept_ *= -1
    assert soft_margins.extended_margin(fit, 0.5) == 0


def test_directional_margin_equals_the_margin_with_a_materialised_diagonal():
    (X, y), delta = noisy(60, 4), 0.7
    classifier = margins.get("pdm")(C=1 / (2 * delta**2), stop="clean-pass", random_state=0)
    fit = reporting.timed_fit(lambda: classifier, X, y)
    data = y[:, np.newaxis] * np.hstack([X, np.ones((60, 1)), delta * np.diag(y)])
    a = fit.classifier.dual_coef_[0] @ data
    expected = (data @ a).min() / np.linalg.norm(a)
    assert reproduce.directional_margin(fit, delta) == pytest.approx(expected, rel=1e-9)


def test_the_objective_belongs_to_the_l1_svm():
    X, y = noisy(60, 4)
    fit = reporting.timed_fit(lambda: LinearSVC(loss="hinge", fit_intercept=False), X, y)
    w = fit.classifier.coef_[0]
    expected = w @ w / 2 + sum(max(0, 1 - label * (row @ w)) for row, label in zip(X, y, strict=True))
    assert reproduce.objective(fit) == pytest.approx(expected, rel=1e-12)


def test_largest_tol_is_the_largest_of_the_grid_that_is_good():
    X, y = noisy(60, 4)
    arguments = reporting.command_line("").parse_args([])
    tried = []

    def make(tol):
        tried.append(tol)
        return LinearSVC(tol=tol, max_iter=100_000)

    fit = reporting.largest_tol(make, lambda fit: fit.classifier.tol <= 0.035, X, y, arguments)
    assert (fit.tol, fit.good) == (0.03, True)
    assert tried == [10, 1, 0.1, 0.01, 0.09, 0.08, 0.07, 0.06, 0.05, 0.04, 0.03]
    fit = reporting.largest_tol(make, lambda fit: False, X, y, arguments)
    assert (fit.tol, fit.good) == (1e-6, False)
