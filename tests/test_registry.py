"""The registry's manners, with plug-in packages that exist only as metadata in a temporary folder."""

import subprocess
import sys

import pytest

import margins
from margins.algorithms.pdm import DynamicMarginPerceptron
from margins.estimators.base import BaseMarginClassifier


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Offer an algorithm from a package: metadata, and a module with the code."""
    monkeypatch.syspath_prepend(tmp_path)

    def install(package, name, code):
        module = f"module_{package}_{name}".replace("-", "_")
        (tmp_path / f"{module}.py").write_text(code)
        info = tmp_path / f"{package}-1.0.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        entries = info / "entry_points.txt"
        before = entries.read_text() if entries.exists() else "[margins.algorithms]\n"
        entries.write_text(f"{before}{name} = {module}:Algorithm\n")

    return install


@pytest.fixture
def registered(monkeypatch):
    """Undo what a test registers."""
    monkeypatch.setattr("margins.registry._registered", {})


GOOD = (
    "from margins.estimators.base import BaseMarginClassifier\n"
    "class Algorithm(BaseMarginClassifier):\n    pass\n"
)


def test_built_ins_are_available_by_name():
    assert {
        "perceptron",
        *("pam", "paum", "lambda-trick", "alpha-bound"),
        *("voted-perceptron", "averaged-perceptron", "longest-survivor", "pocket", "servedio-average"),
        *("margin-perceptron", "pfm", "pdm", "pdm-succ", "mpu", "mpcs", "mpvs"),
    } <= set(margins.available())
    assert margins.available() == sorted(margins.available())
    assert margins.get("pdm") is DynamicMarginPerceptron
    assert margins.get("scikit-margins:pdm") is DynamicMarginPerceptron


def test_an_unknown_name_is_an_error_with_a_suggestion():
    with pytest.raises(ValueError, match=r"Unknown algorithm 'pmd'\. Did you mean 'pdm'\? Avail"):
        margins.get("pmd")
    with pytest.raises(ValueError, match=r"Unknown algorithm 'xyzzy'\. Available: "):
        margins.get("xyzzy")
    with pytest.raises(TypeError, match=r"name of margins\.get must be a str\. Got 3\."):
        margins.get(3)


def test_a_plug_in_is_found_by_its_metadata(install):
    install("alpha", "forgetron", GOOD)
    assert "forgetron" in margins.available()
    assert issubclass(margins.get("forgetron"), BaseMarginClassifier)


def test_available_imports_no_plug_in(install):
    install("alpha", "explosive", "raise RuntimeError('imported')\n")
    assert "explosive" in margins.available()


def test_a_broken_plug_in_fails_only_when_it_is_requested(install):
    install("alpha", "broken", "import no_such_module\n")
    assert margins.get("mpu")
    with pytest.raises(ImportError, match=r"Algorithm 'broken' of package 'alpha' .*no_such_module"):
        margins.get("broken")


def test_what_is_no_classifier_is_rejected(install):
    install("alpha", "number", "Algorithm = 42\n")
    with pytest.raises(
        TypeError, match=r"'number' of 'alpha', must be a scikit-learn classifier .* Got 42"
    ):
        margins.get("number")


def test_two_packages_with_one_name_need_a_qualified_name(install):
    install("alpha", "twin", GOOD)
    install("beta", "twin", GOOD)
    assert {"alpha:twin", "beta:twin"} <= set(margins.available())
    assert "twin" not in margins.available()
    with pytest.raises(ValueError, match=r"2 packages offer .* one of 'alpha:twin', 'beta:twin'"):
        margins.get("twin")
    assert margins.get("alpha:twin") is not margins.get("beta:twin")


def test_built_ins_cannot_be_shadowed(install):
    install("alpha", "pdm", GOOD)
    assert margins.get("pdm") is DynamicMarginPerceptron
    assert margins.get("alpha:pdm") is not DynamicMarginPerceptron
    assert {"pdm", "alpha:pdm"} <= set(margins.available())


def test_every_available_name_can_be_loaded(install):
    install("alpha", "pdm", GOOD)
    install("alpha", "twin", GOOD)
    install("beta", "twin", GOOD)
    for name in margins.available():
        assert margins.get(name)


def test_a_class_can_be_registered_for_this_process(registered):
    class Algorithm(BaseMarginClassifier):
        """An algorithm of this test."""

    assert margins.register("mine", Algorithm) is Algorithm
    assert margins.get("mine") is Algorithm
    assert "mine" in margins.available()
    margins.register("mine", Algorithm)  # again is no contradiction
    with pytest.raises(ValueError, match=r"'mine' is already registered, for Algorithm\."):
        margins.register("mine", DynamicMarginPerceptron)


def test_register_rejects_taken_names_and_other_things(registered):
    with pytest.raises(ValueError, match=r"'pdm' is already offered by package 'scikit-margins'\."):
        margins.register("pdm", DynamicMarginPerceptron)
    with pytest.raises(TypeError, match=r"must be a scikit-learn classifier class\. Got 3"):
        margins.register("three", 3)
    with pytest.raises(ValueError, match=r"must be a str without ':'\. Got 'a:b'\."):
        margins.register("a:b", DynamicMarginPerceptron)


def test_importing_margins_imports_neither_algorithms_nor_scikit_learn():
    code = (
        "import margins, sys; margins.available(); "
        "print([name for name in sys.modules if 'sklearn' in name or 'margins.alg' in name])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
