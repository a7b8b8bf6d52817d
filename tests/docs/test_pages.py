"""The pages of the documentation: their examples run, and every algorithm has its page."""

import doctest
import sys
import tomllib
from pathlib import Path

import pytest

import margins

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS / "_extensions"))

import algorithm_pages  # noqa: E402

EXAMPLES = sorted(path.name for path in (DOCS / "examples").glob("plot_*.py"))


@pytest.mark.parametrize(
    "page", ["index.md", "start.md", "kernels.md", "larger_than_memory.md", "paths.md"]
)
def test_examples_of_pages_run(page):
    result = doctest.testfile(
        str(DOCS / page), module_relative=False, optionflags=doctest.ELLIPSIS, encoding="utf-8"
    )
    assert result.attempted > 2
    assert result.failed == 0


def test_every_algorithm_has_advice_and_every_advice_an_algorithm():
    words = tomllib.loads((DOCS / "advice.toml").read_text(encoding="utf-8"))
    assert set(words) == set(algorithm_pages.built_in())
    for name, one in words.items():
        assert set(one) == {"take", "rather_not"}, name
        assert all(text.endswith(".") for text in one.values()), name


@pytest.mark.parametrize("name", algorithm_pages.built_in())
def test_the_page_of_an_algorithm_has_its_rules_and_its_advice(name):
    words = algorithm_pages.advice(DOCS)
    text = algorithm_pages.page(name, words[name])
    assert words[name]["take"] in text and words[name]["rather_not"] in text
    algorithm = margins.get(name)
    assert f"{algorithm.__module__}.{algorithm.__qualname__}" in text
    assert ("**Streams:** ``partial_fit``" in text) == hasattr(algorithm(), "partial_fit")
    assert "Rules, on a tiny problem" in text or "**Solver:**" in text


def test_pages_are_written_only_where_they_have_changed(tmp_path):
    path = tmp_path / "page.md"
    algorithm_pages.write(path, "one")
    before = path.stat().st_mtime_ns
    algorithm_pages.write(path, "one")
    assert path.stat().st_mtime_ns == before
    algorithm_pages.write(path, "two")
    assert path.read_text() == "two"


def test_the_gallery_has_twelve_examples_with_pictures():
    assert len(EXAMPLES) >= 12
    for name in EXAMPLES:
        text = (DOCS / "examples" / name).read_text(encoding="utf-8")
        assert text.startswith('"""\n') and "matplotlib" in text, name


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_of_the_gallery_runs(name, monkeypatch):
    pytest.importorskip("matplotlib").use("Agg")
    code = compile((DOCS / "examples" / name).read_text(encoding="utf-8"), name, "exec")
    exec(code, {"__name__": "__main__"})
