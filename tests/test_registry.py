"""The registry's manners, with plug-in packages that exist only as metadata in a temporary folder."""

import importlib.metadata

import numpy as np
import pytest

import margins
from margins.algorithms.pdm import DynamicMarginPerceptron
from margins.cli.app import main
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


def test_available_imports_no_plug_in(install):
    install("alpha", "explosive", "raise RuntimeError('imported')\n")
    assert "explosive" in margins.available()


def test_a_broken_plug_in_fails_only_when_it_is_requested(install):
    install("alpha", "broken", "import no_such_module\n")
    assert margins.get("mpu")
    with pytest.raises(ImportError, match=r"Algorithm 'broken' of package 'alpha' .*no_such_module"):
        margins.get("broken")


def test_plug_ins_that_are_not_classifiers_are_rejected(install):
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


MALFORMED = {
    "a line without =": b"[console_scripts]\nno equals sign\n",
    "not UTF-8": b"[console_scripts]\nn\xe4me = module:function\n",
    "a line before any group": b"name = module:function\n[other]\nname\n",
    "null bytes": b"[console_scripts]\n\0\0\0\n",
    "an unclosed group": b"[console_scripts\nname = module:function\nname\n",
}


@pytest.fixture(params=MALFORMED)
def malformed_package(request, tmp_path, monkeypatch):
    """A package whose entry points, of an unrelated group, cannot be parsed."""
    info = tmp_path / "elsewhere" / "unrelated-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: unrelated\nVersion: 1.0\n")
    (info / "entry_points.txt").write_bytes(MALFORMED[request.param])
    monkeypatch.syspath_prepend(info.parent)
    return "unrelated"


def test_malformed_entry_points_of_another_package_change_nothing(install, malformed_package):
    expected = {*margins.registry.built_ins(), "forgetron"}
    install("alpha", "forgetron", GOOD)
    assert set(margins.available()) == expected
    assert margins.get("pdm") is DynamicMarginPerceptron
    assert issubclass(margins.get("forgetron"), BaseMarginClassifier)
    assert margins.registry.provider("forgetron") == "alpha"
    assert margins.registry.name_of(margins.get("forgetron")) == "forgetron"
    assert margins.registry.name_of(DynamicMarginPerceptron) == "pdm"


def test_unreadable_entry_points_are_reported_with_an_unknown_name(malformed_package, capsys):
    if not margins.registry.unreadable():
        pytest.skip("this version of Python reads them")
    with pytest.raises(
        ValueError, match=r"Unknown algorithm 'xyzzy'.* package 'unrelated' could not be read"
    ):
        margins.get("xyzzy")
    assert main(["list"]) == 0
    assert "NOT READ: entry points of package 'unrelated': " in capsys.readouterr().out


def test_a_package_without_a_name_changes_nothing(tmp_path, monkeypatch):
    (tmp_path / "nameless-1.0.dist-info").mkdir()
    text = f"[{margins.registry.GROUP}]\nghost = nameless:Algorithm\n"
    (tmp_path / "nameless-1.0.dist-info" / "entry_points.txt").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    assert margins.get("pdm") is DynamicMarginPerceptron
    assert {"pdm", "ghost"} <= set(margins.available())
    with pytest.raises(ImportError, match="Algorithm 'ghost' of package 'unknown'"):
        margins.get("ghost")


def test_built_ins_are_found_without_reading_other_packages(monkeypatch):
    def refuse():
        raise AssertionError("the metadata of all packages were read")

    monkeypatch.setattr(importlib.metadata, "distributions", refuse)
    monkeypatch.setattr(margins.registry, "_loaded_built_ins", {})
    assert margins.get("pdm") is margins.get("scikit-margins:pdm") is DynamicMarginPerceptron
    assert margins.registry.provider("pdm") == "scikit-margins"
    assert margins.registry.name_of(DynamicMarginPerceptron) == "pdm"
    assert margins.registry.name_of(BaseMarginClassifier) is None


def test_missing_metadata_of_this_package_are_reported(monkeypatch):
    monkeypatch.setattr(margins.registry, "built_ins", dict)
    monkeypatch.setattr(importlib.metadata, "distributions", list)
    monkeypatch.setattr(margins.registry, "_loaded_built_ins", {})
    assert margins.available() == []
    with pytest.raises(ValueError, match=r"Unknown algorithm 'pdm'.* 'scikit-margins' is not installed"):
        margins.get("pdm")


ENDS = {
    "SystemExit": "raise SystemExit(3)\n",
    "sys.exit": "import sys\nsys.exit('bye')\n",
    "GeneratorExit": "raise GeneratorExit\n",
    "an exception of its own": "class Own(BaseException):\n    pass\nraise Own('own')\n",
    "a recursion": "def f():\n    f()\nf()\n",
    "a syntax error": "def\n",
}


@pytest.mark.parametrize("end", ENDS)
def test_a_plug_in_that_ends_the_process_on_import_ends_nothing(install, end, capsys):
    install("alpha", "ending", ENDS[end])
    with pytest.raises(ImportError, match=r"Algorithm 'ending' of package 'alpha' cannot be imported"):
        margins.get("ending")
    assert main(["list"]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert set(lines) == set(margins.available())
    assert "BROKEN: Algorithm 'ending' of package 'alpha'" in lines["ending"]
    assert main(["describe", "ending"]) == 1  # an error of a plug-in


def test_ctrl_c_during_an_import_is_raised(install):
    install("alpha", "slow", "raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        margins.get("slow")


def test_available_lists_algorithms_that_stream():
    streaming = margins.available(streaming=True)
    assert {"perceptron", "pa-i", "voted-perceptron"} <= set(streaming)
    assert not {"auto", "dcd", "adatron"} & set(streaming)
    assert sorted([*streaming, *margins.available(streaming=False)]) == margins.available()
    X, y = np.eye(2), [0, 1]
    for name in streaming:
        assert margins.get(name)(random_state=0).partial_fit(X, y, classes=[0, 1]).n_features_in_ == 2
    for name in margins.available(streaming=False):
        assert not hasattr(margins.get(name)(), "partial_fit")


def test_a_broken_plug_in_is_in_neither_list_of_streaming(install):
    install("alpha", "broken", "raise RuntimeError('no')\n")
    assert "broken" in margins.available()
    assert "broken" not in margins.available(streaming=True) + margins.available(streaming=False)


def test_another_value_of_streaming_is_an_error():
    with pytest.raises(TypeError, match="streaming of margins.available must be a bool"):
        margins.available(streaming="yes")
