"""`show_versions` prints what a report of an error needs."""

import importlib.metadata

import numpy as np

import margins
from margins import versions


def test_it_prints_every_version_on_a_line(capsys):
    margins.show_versions()
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines["margins"] == margins.__version__ and lines["numpy"] == np.__version__
    assert {*versions.REQUIRED, *versions.OPTIONAL} <= set(lines) and "openblas" in lines


def test_what_is_not_installed_is_said_to_be_so(monkeypatch):
    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(versions.metadata, "version", missing)
    assert versions.versions()["pandas"] == "not installed"
