"""Type annotations, checked with mypy: in a user's script, in a plug-in, in the package."""

import ast
import importlib
import inspect
import os
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import margins

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LINES = PROJECT["project"]["entry-points"][margins.registry.GROUP]
STUBS = sorted(path.relative_to(ROOT) for path in (ROOT / "margins").rglob("*.pyi"))
MADE = [stub for stub in STUBS if (ROOT / stub).with_suffix(".pyx").exists()]
# What users of a classifier call; the rest is for authors of algorithms.
USERS_CALL = {"fit", "partial_fit", "predict", "decision_function"}
COMPILED = [
    f"margins.{name}" for name in ("_activeset", "_sparse", "_update", "data._binary_data", "rules")
]

pytest.importorskip("mypy", reason="mypy is not installed: pip install mypy")


def checker(module, *arguments, folder):
    """The lines that mypy, or its stubtest, prints, run away from the checkout as users run it."""
    command = [sys.executable, "-m", module, *arguments]
    environment = os.environ | {"MYPYPATH": str(ROOT), "MYPY_CACHE_DIR": os.devnull}
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    return ran.stdout.splitlines()


@pytest.fixture(scope="module")
def errors(tmp_path_factory):
    """{file: {(line, code)}} of the three files next to this one, by ``mypy --strict``."""
    files = [HERE / name for name in ("user_script.py", "typed_plugin.py", "wrong_code.py")]
    # margins is silent like an installed package, whose own errors are not reported.
    options = ["--strict", "--config-file=", "--follow-imports=silent"]
    lines = checker("mypy", *options, *map(str, files), folder=tmp_path_factory.mktemp("mypy"))
    found = {file.name: set() for file in files}
    for line in lines:
        match = re.match(r"(.+?):(\d+): error: .*\[([\w-]+)\]$", line)
        if match:
            found[Path(match[1]).name].add((int(match[2]), match[3]))
    assert lines[-1].startswith("Found"), lines  # at least the wrong code's
    return found


@pytest.mark.slow
def test_correct_code_has_no_errors(errors):
    assert not errors["user_script.py"] and not errors["typed_plugin.py"]


@pytest.mark.slow
def test_wrong_code_has_the_errors_that_it_names(errors):
    lines = (HERE / "wrong_code.py").read_text(encoding="utf-8").splitlines()
    named = [(number, re.search(r"# error: ([\w-]+)", line)) for number, line in enumerate(lines, 1)]
    assert errors["wrong_code.py"] == {(number, match[1]) for number, match in named if match}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_user_script_runs():
    runpy.run_path(str(HERE / "user_script.py"), run_name="__main__")


def test_plugin_runs():
    plugin = runpy.run_path(str(HERE / "typed_plugin.py"), run_name="typed_plugin")["made"]()
    assert (plugin.start, plugin.steps, plugin.eps) == (0.25, "one", 0.05)
    X, y = np.array([[0.0], [1.0], [3.0], [4.0]]), [0, 0, 1, 1]
    assert plugin.fit(X, y).converged_
    assert plugin.certificates_[0].fraction >= 0.95


def members(body):
    """{name: definition} of what a stub defines, in a module or in a class."""
    kinds = (ast.ClassDef, ast.FunctionDef)
    return {each.name: each for each in body if isinstance(each, kinds)}


def test_stubs_name_what_the_compiled_modules_have():
    assert MADE
    for stub in MADE:
        module = importlib.import_module(".".join(stub.with_suffix("").parts))
        defined = members(ast.parse((ROOT / stub).read_text(encoding="utf-8")).body)
        classes = {name for name, each in vars(module).items() if inspect.isclass(each)}
        own = {name for name in classes if getattr(module, name).__module__ == module.__name__}
        assert {name for name in own if not name.startswith("_")} <= defined.keys(), stub
        for name, definition in defined.items():
            assert hasattr(module, name), f"{stub}: {name}"
            if isinstance(definition, ast.ClassDef):
                missing = members(definition.body).keys() - set(dir(getattr(module, name)))
                assert not missing, f"{stub}: {name}"


@pytest.mark.slow
def test_stubs_match_the_compiled_modules(tmp_path):
    config = tmp_path / "mypy.ini"
    config.write_text("[mypy]\nfollow_imports = silent\n[mypy-*]\nignore_missing_imports = True\n")
    allowed = tmp_path / "allowed"
    # What Cython adds; constructors without arguments; an import.
    allowed.write_text(
        r".*\.__(reduce|setstate)_cython__|.*\.__(test|pyx_capi)__"
        r"|margins\.rules\.(averaging\.MistakeHistory|conditions\.Mistake)\.__init__"
        r"|margins\.rules\.python_functions\.NAMES"
    )
    options = [f"--mypy-config-file={config}", f"--allowlist={allowed}", "--ignore-unused-allowlist"]
    options += ["--ignore-disjoint-bases", "--concise"]
    lines = checker("mypy.stubtest", *options, *COMPILED, folder=tmp_path)
    assert not lines, "\n".join(lines)


def test_public_methods_are_annotated():
    for name in LINES:
        cls = margins.get(name)
        for method in USERS_CALL & set(dir(cls)):
            function = inspect.getattr_static(cls, method)
            signature = inspect.signature(getattr(function, "fn", function))  # fn: of available_if
            _, *parameters = signature.parameters.values()
            missing = [each.name for each in parameters if each.annotation is each.empty]
            assert not missing, f"{method} of {cls.__name__}"
            assert signature.return_annotation is not signature.empty, f"{method} of {cls.__name__}"
