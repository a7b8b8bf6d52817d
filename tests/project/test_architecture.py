"""The layout: what is at the top, imports that point one way, no code that tests the type of a loss."""

import ast
import functools
import re
from pathlib import Path

import pytest

import margins

ROOT = Path(margins.__file__).parent

# The order of packages and of modules at the top: each may import what comes before it. Modules of one
# line may import each other. A longer name takes precedence: margins.registry over margins.
ORDER = (
    {"readers"},  # files into arrays; it imports no other module
    {"_version", "tuning", "deprecation", "optional", "text", "linalg", "_limits"},
    {"_sparse"},
    {"data._binary_data"},
    {"rules._state"},
    {"rules._weight_vector"},
    {"rules._averaging"},
    {"rules._base"},
    {"_update"},
    {"_activeset"},
    {"data"},
    {"parameters"},
    {"kernels"},
    {"rules"},
    {"losses"},
    {"regularisers"},
    {"certificate"},
    {"solvers"},
    {"training"},
    {"decremental"},
    {"partitions"},  # sums over parts of the samples, by the solvers' kernels; estimators choose them
    {"registry"},
    {"estimators"},
    {"algorithms"},
    {"callbacks"},
    {"bounds", "datasets", "interchange", "persistence"},
    {"testing", "model_selection", "plotting"},
    {"", "versions"},
    {"cli"},
    {"__main__"},
)
AT_THE_TOP = {
    *("__init__", "__main__", "_version", "bounds", "registry", "parameters", "certificate", "tuning"),
    *("deprecation", "optional", "text", "versions", "_sparse", "_update", "_activeset", "_limits"),
}
# Imports against the order: {(importing module, imported module): why}.
EXCEPTIONS = {
    ("margins.rules._state", "margins._update"): "`require_abi` looks up the ABI that is installed",
    ("margins.rules._base", "margins.rules.adapters"): "`Rules` wraps Python functions, on first use",
    ("margins._update", "margins.rules.errors"): "the exception of an ill rule, when it is raised",
    ("margins.interchange.onnx", "margins.model_selection.classifier_cv"): "a class to be registered",
}

# Names of benchmarks that are not English words.
DATA_SETS = (
    "a9a|adult|arcene|basehock|breast[- _]cancer|bupa|colon[- ]cancer|covtype|covertype|"
    "crx|duke|gravier|ijcnn1?|ionosphere|madelon|mnist|mushrooms|news20|pcmac|phishing|rcv1|real[- ]sim|"
    "relathe|satimage|shipp|skin_nonskin|spambase|usps|w8a|wdbc|wpbc"
)


def sources(*suffixes):
    found = sorted(path for path in ROOT.rglob("*") if path.suffix in suffixes)
    assert found
    return found


def module_of(path):
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_module(name):
    path = ROOT.parent.joinpath(*name.split("."))
    return path.is_dir() or any(path.with_suffix(suffix).exists() for suffix in (".py", ".pyx", ".pxd"))


def imports_of(path):
    """The modules of the library that a module imports or cimports: set of str."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        found = set()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path}: a relative import"
                found |= _from(node.module, [alias.name for alias in node.names])
    else:
        found = set(re.findall(r"^\s*c?import\s+([\w.]+)", text, re.M))
        statement = r"^\s*from\s+([\w.]+)\s+c?import\s+(\([^)]*\)|[^\n]*)"
        for module, names in re.findall(statement, text, re.M):
            found |= _from(module, re.findall(r"\w+", names))
    return {name for name in found if name.split(".")[0] == "margins"}


def _from(module, names):
    """``from margins import _sparse`` imports margins._sparse; of other names the module itself."""
    modules = {f"{module}.{name}" for name in names if is_module(f"{module}.{name}")}
    return modules if modules and module == "margins" else {module}


def place_of(module):
    """The longest name in ORDER that a module has or begins with: str."""
    _, _, rest = module.partition(".")
    parts = rest.split(".")
    prefixes = [".".join(parts[:n]) for n in range(len(parts), 0, -1)]
    return next(name for name in prefixes if any(name in level for level in ORDER))


def rank_of(module):
    """Where a module is in ORDER."""
    place = place_of(module)
    (rank,) = (i for i, level in enumerate(ORDER) if place in level)
    return rank


def test_every_module_has_a_place_in_the_order():
    for path in sources(".py", ".pyx", ".pxd"):
        assert rank_of(module_of(path)) >= 0
    with pytest.raises(StopIteration):
        rank_of("margins.elsewhere")


@functools.cache
def imports():
    """(importing module, imported module) of every import: set."""
    paths = sources(".py", ".pyx", ".pxd")
    return {(module_of(path), imported) for path in paths for imported in imports_of(path)}


def test_imports_point_one_way():
    against = {
        (module, imported) for module, imported in imports() if rank_of(imported) > rank_of(module)
    }
    assert against == set(EXCEPTIONS)


def test_no_two_packages_import_each_other():
    # Also of packages on one line of the order.
    pairs = {pair for pair in imports() - EXCEPTIONS.keys() if pair[0] != "margins"}
    edges = {(place_of(module), place_of(imported)) for module, imported in pairs}
    assert ("estimators", "solvers") in edges and ("_update", "rules._base") in edges
    assert {pair for pair in edges if pair[::-1] in edges and len({*pair}) == 2} == set()


def test_the_parser_sees_every_kind_of_import(tmp_path):
    python, cython = tmp_path / "one.py", tmp_path / "one.pyx"
    python.write_text(
        "import numpy, margins.rules\nfrom margins import _sparse, get\n"
        "from margins.data import samples\n"
        "def f():\n    from margins.losses import (\n        Loss,\n    )\n"
    )
    assert imports_of(python) == {"margins.rules", "margins._sparse", "margins.data", "margins.losses"}
    cython.write_text(
        "cimport margins._update\nfrom margins._sparse cimport (\n    Rows,\n)\n"
        "from margins.linalg._sums cimport BLOCK, sum_of\nfrom libc.math cimport fabs\n"
    )
    assert imports_of(cython) == {"margins._update", "margins._sparse", "margins.linalg._sums"}


def test_only_the_listed_modules_are_at_the_top():
    files = {path.stem for path in ROOT.glob("*") if path.suffix in (".py", ".pyx", ".pxd")}
    assert files == AT_THE_TOP
    packages = {path.name for path in ROOT.iterdir() if (path / "__init__.py").exists()}
    assert packages == {name.split(".")[0] for level in ORDER for name in level} - AT_THE_TOP - {""}


LOSS_TEST = re.compile(
    r"(?:isinstance|issubclass|type)\s*\([^)]*\b(?:Hinge|SquaredHinge|HardMargin)\b|"
    r"type\([^)]*\)\s*(?:is|==|in)\s.*\b(?:Hinge|SquaredHinge|HardMargin)\b"
)


def test_no_code_tests_the_type_of_a_loss():
    found = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in sources(".py", ".pyx", ".pxd")
        for match in LOSS_TEST.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def comments_of(path):
    """(line number, comment) of a source file; strings are not comments."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        _, mark, comment = line.partition("#")
        if mark:
            yield number, comment


def test_no_comment_of_the_planner_and_its_solvers_names_a_data_set():
    name = re.compile(rf"\b(?:{DATA_SETS})\b", re.I)
    assert name.search("as on Covertype") and not name.search("adults, coveralls")
    places = ("solvers", "losses", "data", "kernels", "rules", "estimators", "tuning.py")
    found = [
        f"{path.relative_to(ROOT)}:{number}:{comment}"
        for path in sources(".py", ".pyx", ".pxd")
        if path.relative_to(ROOT).parts[0] in places
        for number, comment in comments_of(path)
        if name.search(comment)
    ]
    assert found == []


def test_no_object_is_made_under_a_lock_that_a_forked_child_inherits():
    """`functools.cached_property` has one, until Python 3.11."""
    decorator = re.compile(r"@(functools\.)?cached_property")
    assert [p for p in sources(".py", ".pyx") if decorator.search(p.read_text(encoding="utf-8"))] == []
