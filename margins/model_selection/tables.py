"""Rows of a study, for data frames and readable tables."""

import re
from typing import Any

from margins.estimators.names import display_name_of_path
from margins.model_selection.intervals import mean
from margins.optional import require
from margins.text import aligned

ROWS = ("folds", "settings", "fits")
# scikit-learn's prefix, needed because a parameter may have the name of a metric.
PARAMETER = "param_"
# The characters that are markup within a Markdown cell; an underscore within a word is not.
MARKUP = re.compile(r"[\\|*`<>~&\[\]]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")


def records_of(study: Any, kind: str) -> list[dict[str, Any]]:
    """Return the rows of a study for each fold, setting or fit; raise ValueError for any other kind."""
    if kind not in ROWS:
        raise ValueError(f"rows of Study.to_frame must be one of {', '.join(ROWS)}. Got {kind!r}.")
    if kind == "folds":
        return [
            {
                "fold": number,
                **_params(fold.best_params),
                **fold.scores,
                "n_train": len(fold.train),
                "n_test": len(fold.test),
                "fit_time": fold.fit_time,
                "score_time": fold.score_time,
            }
            for number, fold in enumerate(study.folds)
        ]
    return [row for table in study.tables for row in _rows_of(table, kind)]


def _rows_of(table, kind):
    """Yield one row for each fit of a table or, with means over the folds, for each setting."""
    values = {**table.scores, "fit_time": table.fit_times, "score_time": table.score_times}
    for index, setting in enumerate(table.settings):
        place = {"outer": table.outer, "stage": table.stage}
        if kind == "settings":
            means = {name: mean(numbers[index].tolist()) for name, numbers in values.items()}
            yield {**place, **_params(setting), **means, "chosen": index == table.best_index}
            continue
        for inner in range(len(table.splits)):
            numbers_of_fit = {name: float(numbers[index, inner]) for name, numbers in values.items()}
            yield {**place, "inner": inner, **_params(setting), **numbers_of_fit}


def _params(setting):
    return {f"{PARAMETER}{name}": value for name, value in setting.items()}


class Printed:
    """`to_frame`, `to_latex` and `to_markdown` of a result, by the rows that `_rows` returns."""

    def _rows(self) -> list[dict[str, Any]]:
        raise NotImplementedError

    def to_frame(self) -> Any:
        """Return the rows as a pandas.DataFrame; needs pandas."""
        return frame(self._rows())

    def to_latex(self, **options: Any) -> str:
        """Return the rows of `to_frame` in LaTeX, escaped; options as in pandas' `to_latex`."""
        return latex(self._rows(), options)

    def to_markdown(self, **options: Any) -> str:
        """Return the rows of `to_frame` in Markdown, escaped; options as in pandas' `to_markdown`."""
        return markdown(self._rows(), options)


def frame(rows: list[dict[str, Any]]) -> Any:
    """Return a pandas.DataFrame of rows."""
    return require("to_frame", "pandas").DataFrame(rows)


def latex(rows: list[dict[str, Any]], options: dict[str, Any]) -> str:
    """Return rows in LaTeX, escaped by default."""
    require("to_latex", "pandas", "jinja2")
    table = _printed(rows, "float_format" in options)
    options = {"index": False, "float_format": "%.4f", "escape": True, **options}
    text: str = table.to_latex(**options)
    if not options["escape"]:
        return text
    # pandas does not escape "[" and "*", which the \\\\ of the previous row would read as arguments.
    return re.sub(r"^(?=[\[*])", "{}", text, flags=re.MULTILINE)


def markdown(rows: list[dict[str, Any]], options: dict[str, Any]) -> str:
    """Return rows in Markdown, escaped unless `options` name another format."""
    require("to_markdown", "pandas", "tabulate")
    table = _printed(rows, "floatfmt" in options)
    options = {"index": False, "floatfmt": ".4f", "tablefmt": "pipe", **options}
    if "disable_numparse" not in options:  # a data set may be called 50
        options["disable_numparse"] = [
            index + bool(options["index"])
            for index, name in enumerate(table)
            if any(isinstance(value, str) for value in table[name])
        ]
    if options["tablefmt"] in ("pipe", "github"):
        table = table.apply(lambda column: column.map(_escaped)).rename(columns=_escaped)
    text: str = table.to_markdown(**options)
    return text


def _printed(rows, has_format):
    """Return the data frame of rows to print; `has_format`: the caller chose the format of numbers."""
    table = frame(rows)
    for name in table.columns:
        # The number of digits that suits a score would print C=1e-5 as 0.0000.
        if str(name).startswith(PARAMETER) and not has_format:
            table[name] = [_text_of_value(row[name]) if name in row else "" for row in rows]
    return table


def _text_of_value(value):
    """Return a parameter as text on one line, with at most six digits."""
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return " ".join(text.split())


def _escaped(value):
    """Return a text with Markdown's markup escaped, and any other value unchanged."""
    if not isinstance(value, str):
        return value
    return MARKUP.sub(r"\\\g<0>", " ".join(value.split()))


def setting_as_text(setting):
    """Return a setting as readable text, without the names of pipeline steps."""
    short = {name: name.rpartition("__")[2] for name in setting}
    if len(set(short.values())) < len(short):  # two steps have a parameter of this name
        short = {name: name for name in setting}
    return " ".join(f"{short[name]}={value!r}" for name, value in setting.items()) or "(as it is)"


def summary(study: Any) -> str:
    """Return a study as readable text."""
    metrics = study.metrics
    rows = [["fold", *metrics, "fit s", "chosen"]]
    for number, fold in enumerate(study.folds):
        scores = [f"{fold.scores[metric]:.4f}" for metric in metrics]
        rows.append([str(number), *scores, f"{fold.fit_time:.3g}", setting_as_text(fold.best_params)])
    rows.append(["mean", *(f"{study.mean(metric):.4f}" for metric in metrics), "", ""])
    for name, interval in (("T", study.interval), ("corrected", study.corrected_interval)):
        ends = zip(*(interval(metric) for metric in metrics), strict=True)
        for end, values in zip(("from", "to"), ends, strict=True):
            rows.append([f"95 % {name} {end}", *(f"{value:.4f}" for value in values), "", ""])
    frequencies = [
        f"  {share:4.0%}  {setting_as_text(setting)}" for setting, share in study.selection_frequencies
    ]
    lockstep = "yes" if study.lockstep else f"no: {study.lockstep_reason}"
    name = display_name_of_path(study.estimator)
    head = f"{study.protocol} of {name}, {study.refit} decides, seed {study.seed}"
    how = ["", f"lockstep: {lockstep}"]
    if study.path:
        how.append("path: yes, each fit started from the fit of the next smaller C")
    table = aligned(rows, left=(0, len(rows[0]) - 1))
    return "\n".join([head, "", table, "", "chosen by", *frequencies, *how])
