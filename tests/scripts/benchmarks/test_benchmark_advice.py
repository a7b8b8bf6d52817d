"""Errors of algorithms on fixed sets."""

import benchmark_advice
import numpy as np
import pytest

import margins


@pytest.mark.parametrize("kind", [kind for kind in benchmark_advice.KINDS if kind != "real"])
def test_test_labels_have_no_noise_and_a_hyperplane_separates_the_samples(kind):
    X, y, X_test, y_test = benchmark_advice.samples_of(kind, 0)
    assert X.shape[1] == X_test.shape[1] and len(X) == len(y) and len(X_test) == len(y_test) == 2000
    assert np.mean(y_test > 0) == pytest.approx(0.1 if kind == "uneven" else 0.5, abs=0.05)
    X_test, y_test = X_test[:700] / np.abs(X_test).max(axis=0), y_test[:700]
    assert margins.MarginClassifier(C=1e6).fit(X_test, y_test).score(X_test, y_test) > 0.998


def test_every_algorithm_has_a_row_with_its_error_and_time(capsys):
    benchmark_advice.main(
        ["--seeds", "1", "--kinds", "few", "noisy", "--algorithms", "auto", "alma, p", "pfm"]
    )
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split() == ["algorithm", "few", "noisy", "ms,", "noisy"]
    for name, row in zip(("auto", "alma, p", "pfm"), rows, strict=True):
        few, noisy, milliseconds = row.removeprefix(name).split()
        assert 0 < float(few.rstrip("*")) < 0.5 and 0 < float(noisy.rstrip("*")) < 0.3
        assert float(milliseconds) > 0
