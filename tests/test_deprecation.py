"""Deprecated names still work and warn, and `show_versions` prints what a report of an error needs."""

import importlib
import importlib.metadata

import numpy as np
import pytest

import margins
import margins.rules
from margins import versions
from margins.deprecation import renamed
from margins.solvers.specification import Specification


def test_a_renamed_name_leads_to_the_present_one(monkeypatch):
    find = renamed("margins.rules", {"Readout": "Averaging"}, since="0.2.0", until="0.4.0")
    monkeypatch.setattr(margins.rules, "__getattr__", find, raising=False)
    message = "margins.rules.Readout is deprecated since 0.2.0 .* in 0.4.0: use margins.rules.Averaging"
    with pytest.warns(FutureWarning, match=message) as caught:
        assert margins.rules.Readout is margins.rules.Averaging
    assert caught[0].filename == __file__
    with pytest.warns(FutureWarning, match="margins.rules.Readout"):
        from margins.rules import Readout
    assert Readout is margins.rules.Averaging


def test_unknown_names_are_still_an_error():
    with pytest.raises(AttributeError, match="module 'margins.rules' has no attribute 'Nothing'"):
        _ = margins.rules.Nothing
    find = renamed("json", {"read": "loads"}, since="1", until="2")
    with pytest.warns(FutureWarning):
        assert find("read") is importlib.import_module("json").loads


def test_a_name_that_moved_to_another_module_still_works():
    from margins.training import specification

    with pytest.warns(FutureWarning, match=r"use margins\.solvers\.specification\.Specification\.$"):
        assert specification.Specification is Specification


def test_every_version_is_printed_on_a_line(capsys):
    margins.show_versions()
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines["margins"] == margins.__version__ and lines["numpy"] == np.__version__
    assert {*versions.REQUIRED, *versions.OPTIONAL} <= set(lines) and "openblas" in lines


def test_missing_packages_are_listed_as_not_installed(monkeypatch):
    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(versions.metadata, "version", missing)
    assert versions.versions()["pandas"] == "not installed"
