"""The public names: one list, docs/public_api.txt, that `__all__`, the reference and the version follow.

A name in the list changes only by way of `margins.deprecation`. After a change on purpose:
``python tests/project/test_public_api.py`` writes the list.
"""

import dataclasses
import importlib
import pkgutil
import re
from pathlib import Path

import margins

ROOT = Path(__file__).parents[2]
FILE = ROOT / "docs" / "public_api.txt"
# Modules without `__all__`, and what is public of them.
OF_OTHERS = {
    "margins.certificate": ["Certificate"],
    "margins.data.chunks": ["Chunks"],
    "margins.estimators.base": ["BaseMarginClassifier"],
    "margins.estimators.maximum_margin": ["MaximumMarginClassifier"],
    "margins.estimators.online": ["OnlineMixin"],
    "margins.estimators.soft_margin": ["SoftMarginClassifier"],
    "margins.estimators.path": ["SVMPath"],
    "margins.estimators.separability": ["Separability"],
    "margins.parameters": [
        *("AnyOf", "InstanceOf", "Interval", "OneOf", "SubclassOf", "optional", "parameter")
    ],
    "margins.solvers.base": ["Ending", "Phase", "Solver"],
    "margins.solvers.explanation": ["Explanation"],
    "margins.solvers.schedules": ["NESTED_SETS", "SHALLOW", "UNLEARNING", "UNLEARNING_BOUNDED"],
    "margins.solvers.specification": ["Specification"],
}


def packages():
    """Packages with `__all__`, and `margins` itself."""
    names = [found.name for found in pkgutil.iter_modules(margins.__path__, "margins.")]
    modules = [margins, *map(importlib.import_module, names)]
    return {module.__name__: module for module in modules if hasattr(module, "__all__")}


def present():
    """The public names as they are: sorted list of ``module.name``."""
    listed = {name: module.__all__ for name, module in packages().items()} | OF_OTHERS
    return sorted(f"{module}.{name}" for module, names in listed.items() for name in names)


def listed():
    return FILE.read_text(encoding="utf-8").split()


def referenced():
    """The entries of the API reference."""
    pages = sorted((ROOT / "docs" / "api").glob("*.rst"))
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    return re.findall(r"^   (margins[\w.]*)$", text, re.M)


def test_the_list_has_exactly_the_public_names():
    assert listed() == present(), "a public name has changed: see the docstring of this module"


def test_every_public_name_is_there_and_documented():
    for name in listed():
        module, _, attribute = name.rpartition(".")
        value = getattr(importlib.import_module(module), attribute)
        assert value is not None, name
        assert value.__doc__ or not callable(value), name


def test_the_reference_has_every_public_name_and_no_other():
    entries = referenced()
    assert len(entries) == len(set(entries))
    covered = {*entries}
    assert [name for name in listed() if not {name, name.rpartition(".")[0]} & covered] == []
    modules = {name.rpartition(".")[0] for name in listed()}
    assert [entry for entry in entries if entry not in listed() and entry not in modules] == []


def test_messages_name_classes_by_their_public_names():
    algorithms = map(margins.get, margins.available())
    declared = [field for algorithm in algorithms for field in dataclasses.fields(algorithm)]
    allowed = " ".join(str(field.metadata["allowed"]) for field in declared)
    names = re.findall(r"margins\.[\w.]+\w", allowed)
    assert "margins.losses.Loss" in names
    assert {*names} <= {*listed()}


if __name__ == "__main__":
    FILE.write_text("\n".join(present()) + "\n", encoding="utf-8")
