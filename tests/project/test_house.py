"""Counts that keep the upper half of the package readable."""

import ast
import functools
import re
import sys
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from algorithm_groups import ALGORITHMS, REPRESENTATIVES, quiet
from scripted_runs import PERCEPTRON, run_of

import margins
from margins.solvers.base import Phase

ROOT = Path(margins.__file__).parent
SOURCES = {path: path.read_text(encoding="utf-8") for path in sorted(ROOT.rglob("*.py"))}


@functools.cache
def trees():
    return {path: ast.parse(text) for path, text in SOURCES.items()}


@functools.cache
def nodes_of(path):
    return list(ast.walk(trees()[path]))


def package_of(path):
    parts = path.relative_to(ROOT).parts
    return parts[0] if len(parts) > 1 else ""


def module_of(path):
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


# --------------------------------------------------------------------------------------------- counts


def names_defined_in(body):
    for node in body:
        if isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def private_names_of_estimators():
    """Private names, and the estimator classes that define each of them."""
    owners = defaultdict(set)
    for path in trees():
        if package_of(path) in ("estimators", "algorithms"):
            for node in nodes_of(path):
                if isinstance(node, ast.ClassDef):
                    for name in names_defined_in(node.body):
                        if re.match(r"_(?!_)", name):
                            owners[name].add(node.name)
    return owners


def test_few_private_names_are_defined_in_several_estimators():
    several = {name for name, classes in private_names_of_estimators().items() if len(classes) > 1}
    assert len(several) <= 16, sorted(several)


def test_no_private_name_of_an_estimator_is_read_in_another_package():
    private, found = private_names_of_estimators(), []
    for path in trees():
        if package_of(path) in ("estimators", "algorithms"):
            continue
        classes = [node for node in nodes_of(path) if isinstance(node, ast.ClassDef)]
        own = {name for each in classes for name in names_defined_in(each.body)}
        for node in nodes_of(path):
            is_private = isinstance(node, ast.Attribute) and node.attr in private.keys() - own
            if is_private and ast.unparse(node.value) != "self":
                found.append(f"{path.relative_to(ROOT)}:{node.lineno}: {node.attr}")
    assert found == []


def test_a_run_has_few_attributes():
    run = run_of()
    run.train([Phase(PERCEPTRON)])
    assert len(vars(run)) <= 30, sorted(vars(run))


def files_of(function):
    """The files of the package whose functions a call runs: set of str."""
    files = set()

    def watch(frame, event, argument):
        if event == "call" and frame.f_code.co_filename.startswith(str(ROOT)):
            files.add(frame.f_code.co_filename)

    sys.setprofile(watch)
    try:
        function()
    finally:
        sys.setprofile(None)
    return files


@pytest.mark.parametrize(("name", "most"), [("auto", 22), ("pdm", 24)])
@quiet
def test_a_small_fit_runs_through_few_files(name, most):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(100, 5))
    y = (X[:, 0] + 0.3 * generator.normal(size=100) > 0).astype(int)
    algorithm = margins.get(name)
    algorithm(random_state=0).fit(X, y)
    assert len(files_of(lambda: algorithm(random_state=0).fit(X, y))) <= most


# ----------------------------------------------------------------------------------------- one of each


def files_with(pattern):
    return {str(path.relative_to(ROOT)) for path, text in SOURCES.items() if re.search(pattern, text)}


def test_few_files_make_binary_problems():
    assert files_with(r"make_binary_data\(") - {"data/binary_data.py"} == {
        "estimators/budget.py",  # the rows of a cache, and of the next chunk
        "partitions/partition.py",  # the samples of a partition
        "training/training_set.py",
        "training/whole.py",  # pairs of classes without a training set of their own
    }


def test_only_the_planner_compares_sizes():
    choosing = r"\b(?:has_small_hessian|has_few_samples|gram_pays|nonzeros_for_blocks)\b"
    assert files_with(choosing) == {"solvers/auto.py"}


def test_no_two_classes_of_the_upper_half_have_one_name():
    owners = defaultdict(list)
    for path, tree in trees().items():
        if package_of(path) in ("estimators", "model_selection", "partitions", "training", "cli"):
            for node in tree.body:
                if isinstance(node, ast.ClassDef):
                    owners[node.name.lstrip("_")].append(str(path.relative_to(ROOT)))
    del owners["Samples"]  # of the command line, too: X and y as they are in a file
    assert {name: paths for name, paths in owners.items() if len(paths) > 1} == {}


@functools.cache
def files_by_module():
    return {module_of(path): path for path in trees()}


def imports_of(path):
    """The files that a file imports, also for types and within functions."""
    modules = files_by_module()
    for node in nodes_of(path):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield modules.get(name, modules.get(node.module))
        elif isinstance(node, ast.Import):
            yield from (modules.get(alias.name) for alias in node.names)


def test_no_files_import_each_other_in_a_circle():
    edges = {path: set(imports_of(path)) - {None, path} for path in trees()}
    changed = True
    while changed:  # files that import nothing that is left cannot be in a circle
        leaves = {path for path, others in edges.items() if not others & edges.keys()}
        edges = {path: others for path, others in edges.items() if path not in leaves}
        changed = bool(leaves)
    imported = {other for others in edges.values() for other in others}
    assert sorted(str(path.relative_to(ROOT)) for path in edges if path in imported) == []


# --------------------------------------------------------------------------------- a fit leaves no trace


def watched(kind, seen):
    """A subclass that compares the estimator in the middle of a fit with the one before."""

    class Watched(kind):
        """As the algorithm."""

        def phases(self, run):
            seen.append(vars(self).keys() == self.before.keys())
            seen.append(all(vars(self)[name] is value for name, value in self.before.items()))
            yield from super().phases(run)

    return Watched


@quiet
@pytest.mark.parametrize("name", REPRESENTATIVES)
@pytest.mark.parametrize("is_warm", [False, True])
def test_an_estimator_is_not_changed_before_its_fit_has_ended(name, is_warm):
    seen = []
    classifier = watched(ALGORITHMS[name], seen)(random_state=0, max_iter=5)
    if is_warm and "warm_start" in classifier.get_params():
        classifier.set_params(warm_start=True)
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(60, 4)), np.arange(60) % 3
    for _ in range(2):
        before = dict(vars(classifier))
        object.__setattr__(classifier, "before", before)
        before["before"] = before
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            classifier.fit(X, y)
    assert len(seen) == 12 and all(seen)
