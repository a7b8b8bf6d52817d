"""What leave-one-out proves, against real refits: a sample of what the script tries."""

import attack_leave_one_out as attack
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import margins


def test_refits_contradict_no_proof_of_random_problems(monkeypatch, capsys):
    monkeypatch.delenv("MARGINS_DATA", raising=False)
    assert attack.main(["--begin", "10", "--count", "12"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("random: bounds") and lines[-1].startswith("false: 0, in ")


@pytest.mark.slow
def test_refits_contradict_no_proof_of_many_random_problems(monkeypatch):
    monkeypatch.delenv("MARGINS_DATA", raising=False)
    assert attack.main(["--begin", "500", "--count", "150"]) == 0


def test_real_data_are_sampled_and_scaled(monkeypatch):
    data = load_breast_cancer()
    data.X, data.y = data.data, data.target
    monkeypatch.setattr(attack.real_data, "load", lambda name: data)
    problems = [attack.real_problem("tumours", number) for number in range(6)]
    assert all(problem.X.shape == (300, 30) for problem in problems)
    assert {float(np.abs(problem.X).max()) for problem in problems} >= {1.0}
    counts, faults = attack.attack(problems[0])
    assert faults == [] and counts["samples"] == 300 and counts["compared"] >= 6


def test_false_proofs_are_found(monkeypatch):
    problem = attack.random_problem(19)
    result = margins.leave_one_out(margins.MarginClassifier(**problem.params), problem.X, problem.y)
    false = type(result)(**vars(result) | {"possible": ~result.possible, "bounds": result.bounds + 1e3})
    monkeypatch.setattr(attack.margins, "leave_one_out", lambda *args, **kwargs: false)
    counts, faults = attack.attack(problem)
    assert counts["wrong"] > 0 and counts["outside"] > 0 and counts["outside_errors"] == 1
    assert len(faults) == counts["wrong"] + counts["outside"] + 1
