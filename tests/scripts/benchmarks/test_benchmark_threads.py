"""The benchmark of threads: a row for every set and loss, and an error if results differ."""

import benchmark_threads as script
import numpy as np
import pytest

import margins


def test_every_set_and_loss_has_a_row(monkeypatch, capsys):
    monkeypatch.setattr(script, "SHAPES", ((300, 5, 0), (200, 30, 3)))
    script.main(["--turns", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert sum("hinge" in line for line in lines) == 4
    assert sum("CSR" in line for line in lines) == 2
    assert sum("product alone" in line for line in lines) == 1


def test_results_that_differ_are_an_error(monkeypatch):
    class Differing(margins.MarginClassifier):
        def fit(self, X, y):
            super().fit(X, y)
            self.coef_ = self.coef_ + np.float64(self.n_jobs)
            return self

    monkeypatch.setattr(script, "SHAPES", ((300, 5, 0),))
    monkeypatch.setattr(script.margins, "MarginClassifier", Differing)
    with pytest.raises(AssertionError, match="depends on the number of threads"):
        script.main(["--turns", "1"])
