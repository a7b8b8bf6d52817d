"""Pages made from the registry: one for each algorithm, their index, and tables of all of them.

Their words come from the docstrings of the algorithms, where phrases in bold mark what the tables show.
They are written to the source folder before Sphinx reads it, and only where they have changed.
"""

import inspect
import re
import tomllib
import warnings
from pathlib import Path

import margins

TINY = [[2.0, 1.0], [1.0, 2.0], [-2.0, -1.0], [-1.0, -2.0]], [1, 1, 0, 0]
SETTINGS = {"pfm": {"gamma": 0.1}}  # needs the margin that it is to find
# Settings whose run takes several epochs, where the usual ones are done after one.
DRAWN = {"auto": {"solver": "unlearning", "eps": 1e-4}}
# Members for authors of plug-ins, which the pages of the base classes describe.
HOOKS = "check_parameters, phases, plan, set_fitted, specification, training_set, training_set_of, "
HOOKS += "why_not_in_partitions, chunk_rules, online_rules, online_averaging, is_online"
# {name: {"when": condition, "then": update}}, both in LaTeX; the condition is optional.
FORMULAS = tomllib.loads(Path(__file__).with_name("rules.toml").read_text(encoding="utf-8"))


# The tables: {file: {title of a column: key of `words_of`}}.
TABLES = {
    "advice.md": {"use it for": "take", "avoid it for": "rather_not"},
    "algorithms.md": {"what it does": "what", "guarantee": "guarantee", "source": "source"},
}
# The phrase before each cell, which ends with a full stop.
MARKS = {
    "guarantee": r"\*\*Guarantee\*\*:",
    "take": r"\*\*Use it for\*\*",
    "rather_not": r"\*\*Avoid it for\*\*",
    "source": r"\*\*Source\*\*:",
}


def words_of(name):
    """What the docstring of an algorithm says, for tables: {"what": str, "guarantee": str, ...}.

    A phrase that is missing is empty. The guarantee is then an accuracy, or none.
    """
    algorithm = margins.get(name)
    docstring = inspect.getdoc(algorithm)
    text = " ".join(docstring.split())
    words = {"what": docstring.splitlines()[0].rstrip(".")}
    for key, mark in MARKS.items():
        words[key] = "".join(re.findall(rf"{mark} (.+?)\.(?= |$)", text)[:1])
    words["guarantee"] = words["guarantee"] or (
        "accuracy ``eps``" if hasattr(algorithm(), "eps") else "none"
    )
    return words


def built_in():
    """The names of the algorithms that have a page, `auto` first: list of str."""
    return sorted(margins.registry.built_ins(), key=lambda name: (name != "auto", name))


def page(name):
    """The page of an algorithm, as reStructuredText: str."""
    algorithm = margins.get(name)
    path = f"{algorithm.__module__}.{algorithm.__qualname__}"
    solver, rules = rules_of(name)
    lines = [
        name,
        "=" * len(name),
        "",
        f"``margins.get({name!r})``, the class ``{path}``.",
        "",
        *formula(name),
        "",
        f"**Rules in code:** {rules}" if rules else f"**Solver:** {solver}",
        "",
        "**Streams:** " + ("``partial_fit``" if hasattr(algorithm(), "partial_fit") else "no"),
        "",
        f".. image:: {name}.png",
        f"   :alt: Bounds of the margin, or updates, in a fit by {name}",
        "",
        "One fit to 200 samples of two overlapping classes, with ``C=1``: the bounds of "
        "the soft margin that each epoch proves or, if it proves no accuracy, the updates."
        + (f" The settings are ``{DRAWN[name]}``." if name in DRAWN else ""),
        "",
        f".. autoclass:: {path}",
        *(["   :no-index:"] if name == "auto" else []),  # indexed by the API reference
        "   :members:",
        "   :inherited-members:",
        f"   :exclude-members: {HOOKS}",
        "",
    ]
    return "\n".join(lines)


def formula(name):
    """The rule of an algorithm as a displayed formula: list of str."""
    rule = FORMULAS[name]
    lines = [rule["then"]]
    if "when" in rule:
        lines = [rf"\text{{if }} {rule['when']}", rf"\text{{then }} {rule['then']}"]
    return [".. math::", "", *(f"   & {line} \\\\" for line in lines), ""]


def rules_of(name):
    """The solver that ran on a tiny problem, and its rules, if it has any: (str, str or None)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        algorithm = margins.get(name)
        found = []

        class Recorder(algorithm):
            def phases(self, run):
                for phase in super().phases(run):
                    found.append(phase.rules)
                    yield phase

        fitted = Recorder(**SETTINGS.get(name, {}), max_iter=1).fit(*TINY)
    rules = next((rules for rules in found if rules is not None), None)
    if rules is None:
        return fitted.solver_, None
    return fitted.solver_, f"``{rules.condition!r}``, ``{rules.update!r}``, ``{rules.shrink!r}``"


def draw(name, file):
    """Draw one fit: the bounds of its certificates, or the mistakes of its epochs."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from sklearn.datasets import make_blobs

    from margins.plotting import CertificateDisplay, EpochsDisplay

    X, y = make_blobs(200, centers=[[-1, -1], [1, 1]], cluster_std=1.0, random_state=0)
    algorithm = margins.get(name)
    settings = {"C": 1.0, "random_state": 0}
    if "eps" in algorithm().get_params():
        settings["eps"] = 0.02
    settings |= DRAWN.get(name, SETTINGS.get(name, {}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = algorithm(**settings).set_params(max_iter=50).fit(X, y)
    figure, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
    is_certified = any(epoch.certificate is not None for epoch in fitted.learning_curve_[0][:-1])
    display = CertificateDisplay if is_certified else EpochsDisplay
    display.from_estimator(fitted, names=[name], ax=ax)
    figure.savefig(file, dpi=110)
    plt.close(figure)


def index(names):
    """The page that lists the pages: str."""
    summaries = [f"* - :doc:`{name}`\n     - {words_of(name)['what']}." for name in names]
    title = "A page for each algorithm"
    return "\n".join(
        [title, "=" * len(title), "", ".. list-table::", "", *(f"   {row}" for row in summaries), ""]
        + [".. toctree::", "   :hidden:", "", *(f"   {name}" for name in names), ""]
    )


def table(columns):
    """A Markdown table of all algorithms: str.

    Parameters
    ----------
    columns : dict
        {title of a column: key of `words_of`}.
    """
    lines = ["| name | " + " | ".join(columns) + " |", "| --- " * (len(columns) + 1) + "|"]
    for name in built_in():
        words = words_of(name)
        cells = [words[key].replace("|", r"\|") for key in columns.values()]
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])


def write(path, text):
    """Write a file, unless it holds this text: what has not changed is not built again."""
    path.parent.mkdir(exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def make_pages(app):
    """Write all pages, and the figures that are missing."""
    folder, names = Path(app.srcdir), built_in()
    for file, columns in TABLES.items():
        write(folder / "_generated" / file, table(columns))
    write(folder / "algorithm_pages" / "index.rst", index(names))
    for name in names:
        write(folder / "algorithm_pages" / f"{name}.rst", page(name))
        figure = folder / "algorithm_pages" / f"{name}.png"
        if not figure.exists():
            draw(name, figure)


def setup(app):
    app.connect("builder-inited", make_pages)
    return {"parallel_read_safe": True}
