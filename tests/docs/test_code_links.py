"""Links from names in code to their pages: which names, and to which page."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

nodes = pytest.importorskip("docutils.nodes")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs" / "_extensions"))

import code_links  # noqa: E402


def app():
    def ours(page, name, kind="class"):
        return SimpleNamespace(docname=page, node_id=name, objtype=kind, aliased=False)

    objects = {
        "margins.Study": ours("study", "margins.Study"),
        "margins.Study.rank": ours("study", "margins.Study.rank", "method"),
        "margins.load": ours("files", "margins.load", "function"),
        "margins.p.Perceptron": ours("perceptron", "margins.p.Perceptron"),
    }
    theirs = {
        f"sklearn.{name}": SimpleNamespace(uri=f"https://other.org/{name}")
        for name in ("Perceptron", "SVC")
    }
    env = SimpleNamespace(
        get_domain=lambda _: SimpleNamespace(objects=objects),
        intersphinx_inventory={"py:class": theirs},
        found_docs={"choosing", "algorithm_pages/alpha-bound", "algorithm_pages/pa"},
    )
    builder = SimpleNamespace(get_relative_uri=lambda _, page: f"{page}.html")
    return SimpleNamespace(env=env, builder=builder)


def links(page, *texts):
    """The addresses of code with these texts on a page; None: no link."""
    literals = [nodes.literal("", text) for text in texts]
    tree = nodes.paragraph("", "", *literals)
    code_links.add_links(app(), tree, page)
    return [
        literal.parent["refuri"] if isinstance(literal.parent, nodes.reference) else None
        for literal in literals
    ]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("Study", "study.html#margins.Study"),
        ("margins.Study(cv=5)", "study.html#margins.Study"),
        ("Study.rank", "study.html#margins.Study.rank"),
        ("rank", None),  # any object may have such a method
        ("load", None),
        ("margins.load", "files.html#margins.load"),
        ("SVC", "https://other.org/SVC"),
        ("Perceptron", None),  # two projects have one
        ("sklearn.Perceptron", "https://other.org/Perceptron"),
        ("C=1.0", None),
    ],
)
def test_a_name_is_linked_if_it_says_what_it_means(text, address):
    assert links("guide", text) == [address]


def test_only_the_first_mention_of_each_is_a_link():
    study = "study.html#margins.Study"
    assert links("guide", "Study", "Study()", "margins.Study") == [study, None, None]


@pytest.mark.parametrize("text", ["Perceptron", "margins.p.Perceptron"])
def test_the_page_of_a_class_does_not_link_to_itself_nor_to_its_namesake(text):
    assert links("perceptron", text) == [None]


def test_only_the_page_of_advice_links_algorithms_and_all_mentions():
    texts = "alpha-bound", "pa", "pa", "pb"
    assert links("choosing", *texts) == [*(f"algorithm_pages/{name}.html" for name in texts[:3]), None]
    assert links("guide", *texts) == [None] * 4
