"""`margins list` and `margins describe`: the installed algorithms."""

import contextlib
import dataclasses
import inspect
import math
import re
import warnings
from pathlib import Path

import margins
from margins.cli.errors import DONE
from margins.cli.output import print_json
from margins.registry import OWN_PACKAGE, built_ins, provider, unreadable
from margins.text import aligned

# Two samples of each class, for rules that depend on the data.
TINY = [[2.0, 1.0], [1.0, 2.0], [-2.0, -1.0], [-1.0, -2.0]], [1, 1, 0, 0]


def docstring_of(entry):
    """Return the docstring of a built-in as its file has it, by its entry point, without an import."""
    module, _, kind = entry.value.partition(":")
    path = Path(margins.__file__).parent.joinpath(*module.split(".")[1:]).with_suffix(".py")
    begin = rf'^class {kind}\b[^:]*:\s+r?"""(.*?)"""'
    return re.search(begin, path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)[1]


def list_(as_json):
    """Print every algorithm, with its summary or its error, and return the exit code."""
    algorithms, own = [], built_ins()  # looked up once: each time takes a millisecond
    for name in margins.available():
        try:
            text = docstring_of(own[name]) if name in own else inspect.getdoc(margins.get(name))
            sentence = " ".join((text or "").split("\n\n")[0].split())
        except Exception as error:  # plug-ins may raise any exception
            sentence = f"BROKEN: {error}"
        package = OWN_PACKAGE if name in own else provider(name)
        algorithms.append({"name": name, "package": package, "summary": sentence})
    if as_json:
        print_json(algorithms)
        return DONE
    lines = [(each["name"], each["package"] or "registered", each["summary"]) for each in algorithms]
    print(aligned(lines, left=(0, 1, 2)))
    for package, problem in unreadable().items():
        print(f"NOT READ: entry points of package {package!r}: {problem}")
    return DONE


def rules_of(algorithm):
    """Return the rules of an algorithm's first phase with default parameters; None if it has none."""
    if not hasattr(algorithm, "phases"):
        return None
    rules = []

    class Recorder(algorithm):
        def phases(self, run):
            for phase in super().phases(run):
                rules.append(phase.rules or getattr(phase.solver, "rules", None))
                yield phase

    # A plug-in with a training loop has no phases, so there are no rules to print.
    with warnings.catch_warnings(), contextlib.suppress(NotImplementedError):
        warnings.simplefilter("ignore")
        default = algorithm()
        needs_gamma = getattr(default, "gamma", 0) is None and math.isinf(getattr(default, "C", 0))
        Recorder(**({"gamma": 0.1} if needs_gamma else {}), max_iter=1).fit(*TINY)
    return rules[0] if rules else None


def describe(name):
    """Print what an algorithm is, and return the exit code."""
    print("\n".join(_description(name)))
    return DONE


def _description(name):
    algorithm = margins.get(name)
    lines = [
        f"{name}: {algorithm.__module__}.{algorithm.__qualname__}",
        f"package: {provider(name) or 'registered in this process'}",
    ]
    rules = rules_of(algorithm)
    if rules is None:
        lines.append("rules: none, it has a separate solver")
    else:
        parts = rules.condition, rules.update, rules.shrink
        lines.append(f"rules, on a tiny problem: {', '.join(map(repr, parts))}")
    lines.append(f"partial_fit: {'yes' if hasattr(algorithm(), 'partial_fit') else 'no'}")
    # The docstring before its parameters: summary, guarantee and source.
    text = inspect.getdoc(algorithm) or "No docstring."
    lines += ["", text.split("\nParameters\n")[0].rstrip(), ""]
    if dataclasses.is_dataclass(algorithm):
        for field in dataclasses.fields(algorithm):
            allowed = field.metadata.get("allowed", "anything")
            lines.append(f"  {field.name} = {field.default!r}: {allowed}")
            description = field.metadata.get("description", "")
            lines.append(f"      {' '.join(description.split())}")
    return lines
