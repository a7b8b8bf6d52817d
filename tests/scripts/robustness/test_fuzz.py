"""The fuzz: its cases are valid and damaged, and end as they should."""

from collections import Counter

import fuzz
import numpy as np
import pytest


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("block", range(4))
def test_cases_end_by_a_fit_or_by_a_sentence(block):
    outcomes = Counter(fuzz.run_case(seed) for seed in range(1000 * block, 1000 * block + 50))
    assert outcomes["damaged, refused"] > 5 and outcomes["valid, fitted"] > 20


def test_a_case_that_fails_is_printed_with_its_seed(monkeypatch, capsys):
    def fail(seed):
        raise IndexError(f"case {seed}")

    monkeypatch.setattr(fuzz, "run_case", fail)
    assert fuzz.main(["--minutes", "0.0001", "--seed", "17"]) == 1
    output = capsys.readouterr().out
    assert "--seed 17\n" in output and "IndexError: case 17" in output


def test_what_scipy_calls_invalid_must_be_rejected(monkeypatch):
    class Careless:
        def fit(self, X, y, weight):
            return self

        def predict(self, X):
            return np.zeros(X.shape[0])

        decision_function = predict

    monkeypatch.setattr(fuzz, "random_classifier", lambda rng, name: Careless())
    with pytest.raises(ValueError):
        for seed in range(100):
            fuzz.run_case(seed)
