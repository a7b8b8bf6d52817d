"""`margins list` and `margins describe`: what is installed, and what it is."""

import json
import re

import pytest

import margins
from margins import registry
from margins.algorithms.pdm import DynamicMarginPerceptron
from margins.cli.app import main


@pytest.fixture(autouse=True)
def nothing_registered(monkeypatch):
    monkeypatch.setattr(registry, "_registered", {})


def test_list_names_every_algorithm_once(capsys):
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == margins.available()
    assert all("BROKEN" not in line for line in lines)
    assert main(["list", "--json"]) == 0
    entries = json.loads(capsys.readouterr().out)
    assert [entry["name"] for entry in entries] == margins.available()
    assert set(entries[0]) == {"name", "package", "summary"}
    for entry in entries:  # as the class has it, which is not imported
        text = margins.get(entry["name"]).__doc__.split("\n\n")[0]
        assert entry["summary"] == " ".join(text.split())


def test_describe_has_rules_parameters_and_source(capsys):
    for name in margins.available():
        assert main(["describe", name]) == 0
        text = capsys.readouterr().out
        assert text.startswith(f"{name}: margins.") and "package: scikit-margins\n" in text
        assert "**Source**" in text and "partial_fit: " in text and "rules" in text, name
        for parameter in margins.get(name)().get_params():
            assert f"\n  {parameter} = " in text, name


def test_describe_spells_out_rules_and_ranges(capsys):
    main(["describe", "pdm"])
    text = capsys.readouterr().out
    assert "DynamicMargin(eps=0.01), Additive(eta=1, most=inf), NoShrink()" in text
    assert "  eps = 0.01: in (0, 1]" in text


def test_a_registered_class_is_listed_as_such(capsys):
    margins.register("mine", DynamicMarginPerceptron)
    main(["list"])
    assert re.search("^mine +registered ", capsys.readouterr().out, re.M)
    main(["describe", "mine"])
    assert "registered in this process" in capsys.readouterr().out


def test_an_unknown_name_is_an_error_with_a_hint(capsys):
    assert main(["describe", "pmd"]) == 2
    assert "Did you mean 'pdm'?" in capsys.readouterr().err
