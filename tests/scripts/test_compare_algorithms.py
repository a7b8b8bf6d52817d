"""The comparison of all that prove an accuracy: fits, judgement of the papers' ordering, picture."""

import json
import os
import time

import compare_algorithms
import numpy as np
import pytest
from compare_algorithms import CLAIMS, DCD, Claim

import margins
from margins.algorithms.pdm import DynamicMarginPerceptron

SET = "promoters"
needs_data = pytest.mark.skipif(
    not (
        os.environ.get("MARGINS_DATA") and SET in compare_algorithms.reproduction.real_data.available()
    ),
    reason=f"MARGINS_DATA does not lead to {SET}: the real data sets are not part of the project",
)


@pytest.fixture
def registered(monkeypatch):
    """A newcomer's algorithm, and an alias of it."""
    monkeypatch.setattr(margins.registry, "_registered", {})

    class Newcomer(DynamicMarginPerceptron):
        """An algorithm that the script does not name."""

    margins.register("newcomer", Newcomer)
    margins.register("newcomers-alias", Newcomer)
    return Newcomer


def test_algorithms_with_an_accuracy_are_compared_plug_ins_included(registered):
    family = compare_algorithms.family()
    assert {"mpu", "pdm", "pdm-succ", "mpcs", "mpvs", "newcomer"} <= set(family)
    assert not {"perceptron", "pfm", "alma", "second-order-perceptron", "newcomers-alias"} & set(family)
    assert family["newcomer"] is registered


@needs_data
def test_every_algorithm_is_reported_within_its_bounds(registered, tmp_path, capfd):
    pytest.importorskip("matplotlib")
    files = [str(tmp_path / name) for name in ("results.json", "picture.png")]
    compare_algorithms.main(["--quick", "--json", files[0], "--out", files[1]])
    captured = capfd.readouterr()
    assert captured.err == ""
    report = (tmp_path / "results.json").read_text()
    assert str(tmp_path) not in report
    (result,) = json.loads(report)["data_sets"]
    assert (result["data"], result["C"], result["eps"]) == (SET, 0.5, 0.01)
    rows = {row["algorithm"]: row for row in result["algorithms"]}
    assert set(rows) == {*compare_algorithms.family(), "LinearSVC", DCD}
    best = result["upper_bound"]
    greatest = max(row["margin"] for row in rows.values())
    assert greatest <= best * (1 + 1e-9)
    for name, row in rows.items():
        assert name in captured.out and row["seconds"] > 0
        if name in ("LinearSVC", DCD):
            assert row["upper_bound"] is None
            assert row["fraction"] == pytest.approx(row["margin"] / best)
        else:
            assert row["upper_bound"] >= greatest * (1 - 1e-9)
            assert row["fraction"] == pytest.approx(row["certified_fraction"], rel=1e-6)
            assert (row["fraction"] >= 0.99 - 1e-9) == row["proven"]
            assert row["proven"] == (row["mark"] == "")
            assert row["n_updates"] > 0 and row["n_epochs"] > 0
    assert [claim["claim"] for claim in result["ordering"]] == [claim.text for claim in CLAIMS]
    assert captured.out.count(CLAIMS[1].text) == 1
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


@needs_data
def test_slow_algorithm_ends_with_what_it_has_proven(monkeypatch, capfd, tmp_path):
    class Slow(DynamicMarginPerceptron):
        """Takes its time, and never gets there."""

        def phases(self, run):
            for stage in super().phases(run):
                yield stage
                return

        def fit(self, X, y, sample_weight=None):
            end = time.process_time() + 0.02 * self.max_iter
            super().fit(X, y, sample_weight)
            while time.process_time() < end:
                pass
            self.converged_ = False
            return self

    monkeypatch.setattr(margins.registry, "_registered", {})
    margins.register("slow", Slow)
    monkeypatch.setattr(compare_algorithms, "family", lambda: {"slow": Slow, "mpu": margins.get("mpu")})
    file = tmp_path / "results.json"
    compare_algorithms.main(["--quick", "--limit", "0.2", "--json", str(file)])
    (result,) = json.loads(file.read_text())["data_sets"]
    rows = {row["algorithm"]: row for row in result["algorithms"]}
    assert rows["mpu"]["proven"] and not rows["slow"]["proven"]
    assert 0.05 <= rows["slow"]["seconds"] <= 0.6
    assert rows["slow"]["fraction"] > 0
    assert "0.2 s a fit" in capfd.readouterr().out


def rows(**seconds):
    """Rows of a table: seconds, negative for a fit that ended without its proof."""
    return [
        {"algorithm": name.replace("_", "-"), "seconds": abs(value), "proven": value > 0}
        for name, value in seconds.items()
    ]


@pytest.mark.parametrize(
    ("seconds", "holds", "because"),
    [
        ({"pdm": 1, "romma": 50}, True, "romma took 50.0 times the seconds of pdm"),
        ({"pdm": 1, "romma": -50}, True, "romma took at least 50.0 times"),
        ({"pdm": 1, "romma": 5}, False, "romma took 5.00 times"),
        ({"pdm": 1, "romma": -5}, None, "without their proofs: romma"),
        ({"pdm": -1, "romma": 50}, None, "without their proofs: pdm"),
        ({"pdm": -1, "romma": 5}, False, "romma took 5.00 times"),
        ({"pdm": 1, "romma": 50, "aggressive_romma": 20}, True, "aggressive-romma took 20.0"),
        ({"pdm": 1}, None, "none of aggressive-romma, romma is here"),
        ({"romma": 1}, None, "none of pdm is here"),
    ],
)
def test_claim_is_judged_by_what_the_seconds_prove(seconds, holds, because):
    verdict = CLAIMS[0].judge(rows(**seconds))
    assert verdict["holds"] is holds
    assert because in verdict["because"]


def test_claim_of_the_fastest_is_against_all_others():
    claim = CLAIMS[2]
    assert claim.fast == ("mpu", DCD)
    table = rows(mpu=2, pdm=3, mpcs=4, LinearSVC=0.5)
    assert claim.judge([*table, {"algorithm": DCD, "seconds": 1, "proven": True}])["holds"] is True
    assert claim.judge(rows(mpu=2, pdm=1))["holds"] is False
    assert claim.judge(rows(mpu=2))["holds"] is None


def test_claim_of_several_needs_all_of_them():
    claim = Claim("a and b before c", ("a", "b"), ("c",))
    assert claim.judge(rows(a=1, b=2, c=3))["holds"] is True
    assert claim.judge(rows(a=1, b=4, c=3))["holds"] is False
    assert claim.judge(rows(a=1, c=3))["holds"] is True


def test_invalid_options_are_rejected(monkeypatch, capsys):
    monkeypatch.delenv("MARGINS_DATA", raising=False)
    for arguments, reason in (
        ([], "MARGINS_DATA must be set"),
        (["--limit", "0"], "must be in (0, inf)"),
    ):
        with pytest.raises(SystemExit) as stop:
            compare_algorithms.main(arguments)
        assert stop.value.code == 2
        assert reason in capsys.readouterr().err


def test_picture_shows_what_is_not_finite_at_its_edge(tmp_path):
    pytest.importorskip("matplotlib")
    row = {"upper_bound": np.inf, "margin": -1.0, "proven": False, "seconds": 0.1, "mark": "!"}
    svc = {
        **row,
        "algorithm": "LinearSVC",
        "margin": 0.9,
        "upper_bound": None,
        "proven": True,
        "mark": "",
    }
    good = {**row, "algorithm": "pdm", "margin": 0.99, "upper_bound": 1.0, "proven": True, "mark": ""}
    result = {"data": "none", "upper_bound": 1.0, "eps": 0.01}
    result["algorithms"] = [good, {**row, "algorithm": "slow"}, svc]
    compare_algorithms.draw([result], tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 10_000
