"""The pages of the documentation: their examples run, and every algorithm has its page."""

import doctest
import inspect
import re
import sys
from pathlib import Path

import pytest

import margins

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS / "_extensions"))

import algorithm_pages  # noqa: E402

EXAMPLES = sorted(path.name for path in (DOCS / "examples").glob("plot_*.py"))
FIELDS = DOCS / "examples" / "fields"
IMPORTED_ANYWAY = {
    *sys.stdlib_module_names,
    "margins",
    "matplotlib",
    "numpy",
    "pandas",
    "scipy",
    "sklearn",
}


@pytest.mark.parametrize(
    "page", ["index.md", "start.md", "kernels.md", "larger_than_memory.md", "paths.md"]
)
def test_examples_of_pages_run(page):
    result = doctest.testfile(
        str(DOCS / page), module_relative=False, optionflags=doctest.ELLIPSIS, encoding="utf-8"
    )
    assert result.attempted > 2
    assert result.failed == 0


def test_the_docstring_of_an_algorithm_has_the_words_of_its_rows():
    tables = [(columns, algorithm_pages.table(columns)) for columns in algorithm_pages.TABLES.values()]
    for name in algorithm_pages.built_in():
        words = algorithm_pages.words_of(name)
        marks = {"take": "Use it for", "rather_not": "Avoid it for", "source": "Source"}
        for key, mark in marks.items():
            assert words[key], f"The docstring of {name} has no **{mark}** ... phrase."
            assert words[key] in " ".join(inspect.getdoc(margins.get(name)).split()), name
        for columns, table in tables:
            (row,) = [line for line in table.split("\n") if f"| `{name}` |" in line]
            assert row.replace(r"\|", "").count("|") == len(columns) + 2, name
            assert all(words[key].replace("|", r"\|") in row for key in columns.values()), name


def test_the_table_of_weights_matches_the_classes():
    text = (DOCS / "algorithms.md").read_text(encoding="utf-8")
    found = {}
    for line in text.split("\n"):
        if line.startswith('| "'):
            mode, _, names = (cell.strip() for cell in line.strip("|").split(" | "))
            found |= dict.fromkeys(re.findall("`([^`]+)`", names), mode.strip('"'))
    assert found == {name: margins.get(name).WEIGHTS_MULTIPLY for name in algorithm_pages.built_in()}


def test_each_table_is_on_a_page():
    pages = "".join(path.read_text(encoding="utf-8") for path in DOCS.glob("*.md"))
    for file in algorithm_pages.TABLES:
        assert pages.count(f"```{{include}} _generated/{file}\n```\n") == 1


def test_a_guarantee_is_an_accuracy_unless_the_docstring_states_another():
    for name, guarantee in (
        ("pdm", "accuracy ``eps``"),
        ("romma", "on separable data it ends after at most ``(R / gamma)**2`` updates"),
        ("longest-survivor", "none"),
    ):
        assert algorithm_pages.words_of(name)["guarantee"] == guarantee


def test_the_page_of_an_algorithm_has_its_rules_and_its_docstring():
    for name in algorithm_pages.built_in():
        text = algorithm_pages.page(name)
        algorithm = margins.get(name)
        assert f".. autoclass:: {algorithm.__module__}.{algorithm.__qualname__}\n" in text
        assert ("**Streams:** ``partial_fit``" in text) == hasattr(algorithm(), "partial_fit"), name
        assert "Rules in code" in text or "**Solver:**" in text, name


def test_examples_of_fields_have_pinned_packages_and_a_row_on_their_page():
    lines = (FIELDS / "requirements.txt").read_text(encoding="utf-8").splitlines()[1:]
    pinned = dict(re.fullmatch(r"(\w+)(?:\[\w+\])?==([\w.]+)", line).groups() for line in lines)
    page = (DOCS / "fields.md").read_text(encoding="utf-8")
    rows = re.findall(r"\| {doc}`(\w+) <gallery/fields/(\w+)>` ([\w.]+) \|", page)
    assert {example for _, example, _ in rows} == {path.stem for path in FIELDS.glob("*.py")}
    for package, example, version in rows:
        assert pinned[package] == version
        code = (FIELDS / f"{example}.py").read_text(encoding="utf-8")
        imported = set(re.findall(r"^(?:import|from) (\w+)", code, re.M)) - IMPORTED_ANYWAY
        modules = {name.removesuffix("3") for name in pinned}  # Orange3 is imported as Orange
        assert package.removesuffix("3") in imported and imported <= modules


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_of_the_gallery_runs(name, monkeypatch):
    pytest.importorskip("matplotlib").use("Agg")
    code = compile((DOCS / "examples" / name).read_text(encoding="utf-8"), name, "exec")
    exec(code, {"__name__": "__main__"})
