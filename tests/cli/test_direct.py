"""Training without scikit-learn: the same model as the classifier's, from fewer imports."""

import subprocess
import sys

import numpy as np
import pytest
from cli.conftest import samples, write_svmlight

import margins
from margins.cli import direct
from margins.cli.samples import Source
from margins.persistence import load


def trained(path, parameters):
    """The model that `margins train` gets from the direct way; None where that does not serve."""
    source = Source(str(path))
    if not direct.serves(source, "auto", parameters):
        return None
    return direct.fitted(direct.read(source), parameters)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "parameters", [{}, {"loss": "hinge", "C": 3}, {"fit_intercept": False, "eps": 0.1}]
)
def test_the_model_is_that_of_the_classifier_attribute_by_attribute(tmp_path, n_classes, parameters):
    path, model = tmp_path / "t.svm", tmp_path / "m.skops"
    X, y = samples(n_classes)
    write_svmlight(path, X, y)
    directly = trained(path, {"random_state": 0, "solver": "conjugate", **parameters})
    model.write_bytes(directly.contents())
    found = load(model)
    # Of dense data: the order of terms in a sum is the same.
    expected = margins.MarginClassifier(random_state=0, solver="conjugate", **parameters).fit(X, y)
    assert directly.messages == [] and found.get_params() == expected.get_params()
    assert set(vars(found)) == set(vars(expected))
    for name in ("coef_", "intercept_", "dual_coef_"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(found.classes_, expected.classes_)
    assert found.solver_ == expected.solver_ == "conjugate"
    assert [len(each) for each in found.learning_curve_] == [
        len(each) for each in expected.learning_curve_
    ]
    for one, other in zip(found.certificates_, expected.certificates_, strict=True):
        assert one.gap == pytest.approx(other.gap, rel=1e-6)
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))


def test_the_certificate_is_true_of_the_coefficients(tmp_path):
    path = tmp_path / "t.svm"
    X, y = samples()
    write_svmlight(path, X, y)
    (tmp_path / "m.skops").write_bytes(trained(path, {"random_state": 0, "C": 2.0}).contents())
    model = load(tmp_path / "m.skops")
    slacks = np.maximum(0, 1 - y * model.decision_function(X))
    w = np.append(model.coef_, model.intercept_)
    assert model.certificates_[0].primal == pytest.approx(w @ w / 2 + 2.0 * slacks @ slacks)


def test_defaults_are_those_of_the_classifier():
    assert margins.MarginClassifier().get_params() == direct.DEFAULTS


@pytest.mark.parametrize(
    "parameters",
    [
        {"kernel": "rbf"},
        {"C": float("inf")},
        {"class_weight": "balanced"},
        {"solver": "newton"},
        {"C": "1"},
    ],
)
def test_anything_unusual_is_left_to_the_classifier(train_file, parameters):
    assert trained(train_file, parameters) is None
    assert not direct.serves(Source(str(train_file)), "pdm", {})
    assert not direct.serves(Source("table.csv"), "auto", {})


def test_what_is_not_proven_is_left_to_the_classifier(train_file):
    assert trained(train_file, {"max_iter": 1, "eps": 1e-6}) is None


def test_lines_of_progress_name_the_class(tmp_path):
    path, lines = tmp_path / "t.svm", []
    write_svmlight(path, *samples(3))
    direct.fitted(direct.read(Source(str(path))), {"random_state": 0}, lines.append)
    assert {line.split(":")[0] for line in lines} == {"class 0", "class 1", "class 2"}
    assert any("gap " in line for line in lines)


def test_a_usual_fit_imports_neither_scipy_nor_scikit_learn(train_file, tmp_path):
    code = (
        "import sys\nfrom margins.cli.app import main\n"
        f"assert main(['train', {str(train_file)!r}, {str(tmp_path / 'm.skops')!r}, '-q']) == 0\n"
        "print(*sys.modules)"
    )
    loaded = set(subprocess.check_output([sys.executable, "-c", code], text=True).split())
    assert "numpy" in loaded and not {"scipy", "sklearn", "pandas", "skops", "rich"} & loaded
