"""Third-party plug-ins: pure and compiled packages, installed next to an installed margins.

The packages are in tests/plugins; one more is that of docs/plug_in.md. All are installed into one
temporary environment and run in other processes.
"""

import re
import shutil
import sysconfig
import zipfile
from pathlib import Path

import pytest
from documents import PLUG_IN, blocks
from plugin_environment import (
    HEADERS,
    LITTER,
    PACKAGES,
    PLUGINS,
    ROOT,
    STUBS,
    Environment,
    what_is_missing,
    write_checkout,
    write_wheel,
)


def write_halving(folder):
    """The package of docs/plug_in.md, from there."""
    folder.mkdir()
    (source,) = [text for _, text in blocks("python", PLUG_IN) if not text.startswith(">>>")]
    (folder / "halving.py").write_text(source, encoding="utf-8")
    (folder / "pyproject.toml").write_text(blocks("toml", PLUG_IN)[0][1], encoding="utf-8")


def write_other_headers(folder):
    """Our headers, but for the number of the interface."""
    for header in HEADERS:
        target = folder / header
        target.parent.mkdir(parents=True, exist_ok=True)
        text = (ROOT / header).read_text(encoding="utf-8")
        if target.name == "_state.pxd":
            text, n_numbers = re.subn(r"^    ABI = \d+$", "    ABI = 999", text, flags=re.MULTILINE)
            assert n_numbers == 1
        target.write_text(text, encoding="utf-8")


@pytest.fixture(scope="session")
def wheel_and_environment(tmp_path_factory):
    """The wheel of this checkout, and an environment with it and all plug-ins.

    Takes many seconds of processor time, most of it for pip and Cython.
    """
    if reason := what_is_missing():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("plugins")
    environment = Environment(folder)

    write_checkout(folder / "margins")
    environment.pip("wheel", "--wheel-dir", folder, folder / "margins")
    (wheel,) = folder.glob("*.whl")
    environment.unpack(wheel)

    for name in PACKAGES:
        shutil.copytree(PLUGINS / name, folder / name, ignore=LITTER)
    write_halving(folder / "halving")
    write_other_headers(folder / "other_interface/headers")
    wheels = folder / "wheels"
    wheels.mkdir()
    for name in PACKAGES:
        if not list((PLUGINS / name).glob("*.pyx")):
            write_wheel(folder / name, wheels)

    sources = [folder / name for name in ("halving", "native_rule", "other_interface")]
    environment.pip("wheel", "--wheel-dir", wheels, *sources)
    environment.unpack(*wheels.glob("*.whl"))
    return wheel, environment


@pytest.fixture(scope="session")
def environment(wheel_and_environment):
    return wheel_and_environment[1]


# What plug-ins are asked for, in one process, since each takes a second to start.
QUESTIONS = """
import importlib
import margins
from margins.rules import Additive, NoShrink, Rules

def of_import(load):
    try:
        return load()
    except Exception as error:
        return f"{type(error).__name__}: {error}"

installed = ("margins", "halving", "fresh", "fresh_rules", "by_function")
answer = {
    "import of stale_rules": of_import(lambda: importlib.import_module("stale_rules")),
    "modules": {name: of_import(lambda: margins.get(name).__module__) for name in ("stale", "halving")},
    "files": [importlib.import_module(name).__file__ for name in installed],
}
import fresh_rules
abi = vars(fresh_rules).pop("margins_abi")  # as if the module did not ask for it
answer["unmarked"] = of_import(lambda: repr(Rules(fresh_rules.FreshMargin(0.5), Additive(), NoShrink())))
fresh_rules.margins_abi = abi
answer["marked"] = repr(Rules(fresh_rules.FreshMargin(0.5), Additive(), NoShrink()))
"""


# Fits to the same samples by algorithms with rules from elsewhere, and by the built-in.
FITS = """
import math, warnings
import numpy as np
warnings.simplefilter("ignore")

def end(name, X, y, **params):
    fit = margins.get(name)(random_state=0, **params).fit(X, y)
    curve = [[epoch.updates, epoch.mistakes] for epoch in fit.learning_curve_[0]]
    return [fit.coef_.tolist(), fit.intercept_.tolist(), fit.n_updates_, fit.n_iter_, curve]

fits = answer["fits"] = []
for seed in range(6):
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, (40, 5)).astype(float)
    y = X @ rng.integers(-3, 4, 5) + 0.5 * (1 - 2 * (seed % 2)) + (seed % 3) * rng.normal(size=40) > 0
    for params in ({"C": math.inf, "max_iter": 30}, {"C": 0.5}, {"C": 8.0, "eps": 0.125}):
        names = ("fresh", "pdm", "by-function", "by-python-function")
        fits.append([end(name, X, y, **params) for name in names])
"""


@pytest.fixture(scope="module")
def answers(environment):
    return environment.ask(QUESTIONS + FITS)


# ------------------------------------------------------------------------------------ what is installed


def test_headers_and_stubs_are_in_the_wheel_next_to_the_kernels(wheel_and_environment):
    with zipfile.ZipFile(wheel_and_environment[0]) as wheel:
        held = wheel.namelist()
    assert HEADERS and set(HEADERS) <= set(held)
    assert {"margins/rules/conditions.pyi", "margins/algorithms/_built_ins.pyi"} <= set(STUBS)
    assert {*STUBS, "margins/estimators/_typed.pyi"} <= set(held)
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    kernels = (path.relative_to(ROOT).with_suffix("") for path in (ROOT / "margins").rglob("*.pyx"))
    assert {kernel.as_posix() + suffix for kernel in kernels} <= set(held)


def test_the_environment_uses_the_installed_package(environment, answers):
    assert len(answers["files"]) == 5
    assert all(environment.packages in Path(path).parents for path in answers["files"])


# ------------------------------------------------------------------------------------- what goes wrong


def test_a_module_compiled_against_another_interface_cannot_be_imported(answers):
    message = r"compiled against version 999 of the binary interface of margins, but .* compile it again"
    assert re.fullmatch(f"ImportError: {message}", answers["import of stale_rules"])
    modules = answers["modules"]
    assert "ImportError: Algorithm 'stale' of package 'margins-stale'" in modules["stale"]
    assert modules["halving"] == "halving"


def test_a_compiled_rule_without_an_interface_version_is_rejected(answers):
    message = r"ImportError: Rule FreshMargin of fresh_rules must be compiled against .* Got None\."
    assert re.match(message, answers["unmarked"])
    assert answers["marked"].startswith("Rules(FreshMargin(0.5)")


# ------------------------------------------------------------------------------------------ what works


def test_a_rule_from_elsewhere_runs_bit_for_bit_as_the_built_in(answers):
    assert len(answers["fits"]) == 18
    for theirs, ours, _, _ in answers["fits"]:
        assert theirs == ours


def test_a_function_runs_bit_for_bit_the_same_by_its_pointer_as_by_its_name(answers):
    fits = answers["fits"]
    assert all(by_pointer == by_name for _, _, by_pointer, by_name in fits)
    assert all(by_name[2] > 0 for *_, by_name in fits)


def test_plug_ins_pass_the_kit(environment):
    statements = """
from margins.testing import algorithm_checks, check_rule
from fresh_rules import FreshMargin
import by_function
for share in (0.0, 0.5, 0.99):
    check_rule(FreshMargin(share))
check_rule(by_function.by_pointer)
check_rule(by_function.by_name)
import pickle, relaxed
for rule in (relaxed.below_half_of_the_bound, relaxed.past_the_threshold, relaxed.forget_a_little):
    check_rule(rule)
    assert pickle.loads(pickle.dumps(rule)) is rule
for check, arguments in algorithm_checks("relaxed")[:-1]:
    check(*arguments)
answer = "kept"
"""
    assert environment.ask(statements) == "kept"


CARELESS = """
import careless_rules
from margins.testing import check_rule
answer = {}
for name in (
    "WrongRoot", "Forgetful", "TakesBackTooEarly", "Unbounded", "Idle", "HalfCounted", "WrongRepeat",
):
    try:
        check_rule(getattr(careless_rules, name)())
    except AssertionError as error:
        answer[name] = str(error)
"""


@pytest.mark.slow
def test_checks_of_broken_compiled_rules_name_the_fault(environment):
    environment.pip("install", environment.folder / "careless")
    expected = {
        "WrongRoot": "check_repetitions: got 41 repetitions of an update .*expected 43, as by single",
        "Forgetful": "check_thresholds_are_pure: got a threshold of .*one value",
        "TakesBackTooEarly": "check_ceilings: got an unlearning threshold of 3.0 .*more than .*3.0",
        "Unbounded": r"check_dual_variables_keep_their_bounds: got .* all of them in \[0, 2.5\]",
        "Idle": "check_updates_move: got 30 updates that change nothing",
        "HalfCounted": "check_counts: got a clock of .*expected a whole number",
        "WrongRepeat": "check_repeat: got a sample added 2.0 times for 2 updates .*expected 1.5",
    }
    answer = environment.ask(CARELESS)
    assert answer.keys() == expected.keys()
    for name, message in expected.items():
        assert re.match(f"{name} fails {message}", answer[name]), answer[name]
