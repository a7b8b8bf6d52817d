"""README and documents: their code runs and prints what they show; their plug-in is a package."""

import doctest
import importlib
import importlib.metadata
import re
import sys
import tomllib

import demo
import pytest
from documents import PLUG_IN, ROOT, blocks, text_of

import margins


def built_in():
    entries = importlib.metadata.distribution("scikit-margins").entry_points
    return {entry.name for entry in entries if entry.group == margins.registry.GROUP}


@pytest.fixture
def plug_in(tmp_path, monkeypatch):
    """The package of docs/plug_in.md as an installation leaves it: module and metadata on the path."""
    project = tomllib.loads(next(text for _, text in blocks("toml", PLUG_IN)))
    name, version = project["project"]["name"], project["project"]["version"]
    ((group, lines),) = project["project"]["entry-points"].items()
    ((_, value),) = lines.items()
    module = value.partition(":")[0]
    (source,) = [text for _, text in blocks("python", PLUG_IN) if not text.startswith(">>>")]
    (tmp_path / f"{module}.py").write_text(source, encoding="utf-8")
    information = tmp_path / f"{name.replace('-', '_')}-{version}.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    entries = "".join(f"{key} = {value}\n" for key, value in lines.items())
    (information / "entry_points.txt").write_text(f"[{group}]\n{entries}")
    monkeypatch.syspath_prepend(tmp_path)
    yield module
    sys.modules.pop(module, None)


@pytest.mark.parametrize("page", ["README.md", "docs/guide.md", "docs/interchange.md", PLUG_IN])
def test_examples_print_what_they_show(page, plug_in):
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    examples, complaints = [], []
    for line, text in blocks("python", page):
        if text.startswith(">>>"):
            for example in parser.get_examples(text):
                example.lineno += line
                examples.append(example)
    test = doctest.DocTest(examples, {}, page, page, 0, text_of(page))
    assert runner.run(test, out=complaints.append).attempted >= 5
    assert not complaints, "".join(complaints)


def test_table_of_speeds_is_what_the_demo_prints():
    ((_, text),) = blocks("text", "docs/benchmarks.md")
    lines = text.splitlines()
    titles = [f"{title}: {len(X)} samples" for title, (X, _) in demo.problems().items()]
    assert [sum(line.startswith(title) for line in lines) for title in titles] == [1] * len(titles)
    assert lines.count(demo.HEADER) == len(titles)
    rows = [line.split()[0] for line in lines if line and line[-4:].isdigit()]  # end with the accuracy
    assert sorted(rows) == sorted([*set(rows)] * len(titles))
    # The table is a record of one run: it may lack algorithms that came later.
    assert {"auto", "mpu", "LinearSVC"} <= set(rows) <= {*(built_in() & set(demo.family())), "LinearSVC"}


def test_each_command_is_one_line_and_there_is_one_of_each():
    commands = [line for _, text in blocks("sh") for line in text.splitlines()]
    assert len(commands) == 2
    assert all(command.startswith("python3 -m venv .venv && ") for command in commands)
    assert commands[0].endswith("scripts/demo.py") and commands[1].endswith("-m pytest")


@pytest.mark.parametrize(
    "page", ["README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]
)
def test_links_lead_to_files(page):
    # Pages and pictures of the gallery are made of its examples, by builds of the documentation.
    text = re.sub(r"\(gallery/.*?(plot_[a-z_]+?)(_\d+)?\.\w+\)", r"(examples/\1.py)", text_of(page))
    links = re.findall(r"\]\((?!http)([^)#]+)", text)
    assert not [link for link in links if not (ROOT / page).parent.joinpath(link).exists()]


def test_the_readme_is_short():
    assert len(text_of("README.md").splitlines()) <= 120
