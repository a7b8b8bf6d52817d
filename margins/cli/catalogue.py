"""`margins list` and `margins describe`: the algorithms that are installed."""

import contextlib
import dataclasses
import inspect
import math
import warnings

import margins
from margins.registry import provider, unreadable
from margins.text import aligned

# Two samples of each class, for the rules that depend on the data.
TINY = [[2.0, 1.0], [1.0, 2.0], [-2.0, -1.0], [-1.0, -2.0]], [1, 1, 0, 0]


def first_sentence(algorithm):
    """The first sentence of a class's docstring, on one line."""
    text = inspect.getdoc(algorithm) or ""
    return " ".join(text.split("\n\n")[0].split())


def entries():
    """Of every algorithm its name, package and summary, or the error of a plug-in: list of dict."""
    found = []
    for name in margins.available():
        try:
            sentence = first_sentence(margins.get(name))
        except Exception as error:  # plug-ins may raise any exception
            sentence = f"BROKEN: {error}"
        found.append({"name": name, "package": provider(name), "summary": sentence})
    return found


def listing():
    """Lines of `list`."""
    lines = [(each["name"], each["package"] or "registered", each["summary"]) for each in entries()]
    return [
        *aligned(lines, left=(0, 1, 2)).split("\n"),
        *(
            f"NOT READ: entry points of package {package!r}: {error}"
            for package, error in unreadable().items()
        ),
    ]


def rules_of(algorithm):
    """The rules of an algorithm's first phase by its default parameters; None if it has no rules."""
    if not hasattr(algorithm, "phases"):
        return None
    rules = []

    class Recorder(algorithm):
        def phases(self, run):
            for phase in super().phases(run):
                rules.append(phase.rules or getattr(phase.solver, "rules", None))
                yield phase

    # A plug-in with a loop of its own has no phases, and so no rules to show.
    with warnings.catch_warnings(), contextlib.suppress(NotImplementedError):
        warnings.simplefilter("ignore")
        Recorder(**({"gamma": 0.1} if _needs_gamma(algorithm) else {}), max_iter=1).fit(*TINY)
    return rules[0] if rules else None


def _needs_gamma(algorithm):
    default = algorithm()
    return getattr(default, "gamma", 0) is None and math.isinf(getattr(default, "C", 0))


def description(name):
    """Lines of `describe`."""
    algorithm = margins.get(name)
    lines = [
        f"{name}: {algorithm.__module__}.{algorithm.__qualname__}",
        f"package: {provider(name) or 'registered in this process'}",
    ]
    rules = rules_of(algorithm)
    if rules is None:
        lines.append("rules: none, it has its own solver")
    else:
        lines.append(
            f"rules, on a tiny problem: {rules.condition!r}, {rules.update!r}, {rules.shrink!r}"
        )
    lines.append(f"partial_fit: {'yes' if hasattr(algorithm(), 'partial_fit') else 'no'}")
    lines += ["", *_prose(algorithm), ""]
    if dataclasses.is_dataclass(algorithm):
        for field in dataclasses.fields(algorithm):
            allowed = field.metadata.get("allowed", "anything")
            lines.append(f"  {field.name} = {field.default!r}: {allowed}")
            description = field.metadata.get("description", "")
            lines.append(f"      {' '.join(description.split())}")
    return lines


def _prose(algorithm):
    """The docstring before its parameters: what it is, what it guarantees, its source."""
    text = inspect.getdoc(algorithm) or "No docstring."
    return text.split("\nParameters\n")[0].rstrip().split("\n")
