"""Ways to build and to install a plug-in, and what the documentation says of them."""

import shutil
import tomllib
from pathlib import Path

import pytest
from documents import PLUG_IN, blocks
from plugin_environment import LITTER, PACKAGES, PLUGINS, Environment, what_is_missing, write_checkout

# ------------------------------------------------------------------------- ways to build and to install

FRESH = """
import fresh_rules, margins
answer = [margins.__file__, fresh_rules.__file__, margins.get("fresh").__module__]
answer.append(fresh_rules.FreshMargin(0.5).py_threshold({"sqnorm": 8.0, "t": 2.0}))
"""


@pytest.fixture
def environment(tmp_path):
    """An environment next to a checkout and the plug-in that is built against it."""
    if reason := what_is_missing():
        pytest.skip(reason)
    write_checkout(tmp_path / "checkout")
    shutil.copytree(PLUGINS / "native_rule", tmp_path / "native_rule", ignore=LITTER)
    return Environment(tmp_path)


@pytest.mark.slow
def test_a_rule_is_compiled_against_an_editable_installation(environment, tmp_path):
    environment.pip("install", "--editable", tmp_path / "checkout")
    environment.pip("install", tmp_path / "native_rule")
    library, rules, module, threshold = environment.ask(FRESH)
    assert Path(library) == tmp_path / "checkout/margins/__init__.py"
    assert environment.packages in Path(rules).parents
    assert module == "fresh" and threshold == 2.0


@pytest.mark.slow
def test_a_plug_in_is_built_in_isolation_from_an_index_that_offers_the_wheel(environment, tmp_path):
    """Cython and what margins needs come from the package index that pip is configured with."""
    probe = environment.try_pip("download", "--no-deps", "--dest", tmp_path / "probe", "Cython>=3.1")
    if probe.returncode != 0:
        pytest.skip(f"No package index can be reached: {probe.stderr.strip().splitlines()[-1]}")
    index = tmp_path / "index"
    environment.pip("wheel", "--wheel-dir", index, tmp_path / "checkout")
    built = tmp_path / "built"
    command = ["wheel", "--no-deps", "--prefer-binary", "--find-links", index, "--wheel-dir", built]
    result = environment.try_pip(*command, tmp_path / "native_rule")
    assert result.returncode == 0, result.stdout + result.stderr
    environment.pip("install", *index.glob("*.whl"), *built.glob("*.whl"))
    library, rules, module, threshold = environment.ask(FRESH)
    assert environment.packages in Path(library).parents
    assert environment.packages in Path(rules).parents
    assert module == "fresh" and threshold == 2.0


# -------------------------------------------------------------------------------------------- the docs


def test_the_rule_of_the_docs_is_compiled_here():
    ((_, text),) = blocks("cython", "docs/extending.md")
    assert text == (PLUGINS / "native_rule/fresh_rules.pyx").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 20


def test_every_plug_in_depends_on_the_distribution_not_on_the_other_project_named_margins():
    projects = [tomllib.loads((PLUGINS / name / "pyproject.toml").read_text()) for name in PACKAGES]
    projects += [tomllib.loads(text) for _, text in blocks("toml", PLUG_IN)]
    assert len(projects) > 4
    for project in projects:
        assert project["project"]["name"].startswith("margins-")
        requirements = project["project"].get("dependencies", [])
        requirements += project.get("build-system", {}).get("requires", [])
        assert "scikit-margins" in requirements and "margins" not in requirements
