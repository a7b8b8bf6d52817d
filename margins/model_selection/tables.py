"""Rows of studies, comparisons and rankings, for data frames, papers and readable tables."""

import math
import re
from dataclasses import dataclass
from typing import Any, ClassVar

from margins.estimators.names import display_name_of_path
from margins.model_selection.intervals import mean
from margins.optional import require
from margins.text import aligned

# scikit-learn's prefix, needed because a parameter may have the name of a metric.
PARAMETER = "param_"
# The headings in papers of columns whose names are no words.
HEADINGS = {
    "n_train": "training samples",
    "n_test": "test samples",
    "fit_time": "fit time [s]",
    "score_time": "score time [s]",
}
# The characters that are markup within a Markdown cell; an underscore within a word is not.
MARKUP = re.compile(r"[\\|*`<>~&\[\]]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")


def records_of(study: Any, kind: str) -> list[dict[str, Any]]:
    """Return the rows of a study for each of its "folds", "settings" or "fits"."""
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


@dataclass(frozen=True)
class Bold:
    """The text of a number in bold, as a cell of a table."""

    text: str


class Printed:
    """`to_frame`, `to_latex` and `to_markdown` of a result with several kinds of rows."""

    _kinds: ClassVar[tuple[str, ...]]  # the kinds of rows, the default first

    def _rows(self, kind: str) -> list[dict[str, Any]]:
        raise NotImplementedError

    def _rows_in_words(self, kind: str, number: Any) -> list[dict[str, Any]]:
        """Return rows for papers; `number` returns the text of a float, None: by default."""
        raise NotImplementedError

    def _kind(self, rows: str | None) -> str:
        if rows is not None and rows not in self._kinds:
            name = type(self).__name__
            raise ValueError(f"rows of {name} must be one of {', '.join(self._kinds)}. Got {rows!r}.")
        return rows or self._kinds[0]

    def to_frame(self, rows: str | None = None) -> Any:
        """Return the numbers of one kind of rows as a pandas.DataFrame; needs pandas.

        Parameters
        ----------
        rows : str, optional
            A kind of rows that the class lists, by default the first. Any other raises a ValueError.
        """
        return frame(self._rows(self._kind(rows)))

    def to_latex(self, rows: str | None = None, **options: Any) -> str:
        """Return a table in LaTeX, escaped, for the package booktabs; options as in pandas' `to_latex`.

        Parameters
        ----------
        rows : str, optional
            A kind of rows, as in `to_frame`.
        **options
            With `float_format`, numbers are in this format. Other names of columns are the headings.
        """
        number = options.get("float_format")
        number = number.__mod__ if isinstance(number, str) else number
        return latex(self._rows_in_words(self._kind(rows), number), options)

    def to_markdown(self, rows: str | None = None, **options: Any) -> str:
        """Return a table in Markdown, escaped; options as in pandas' `to_markdown`.

        Parameters
        ----------
        rows : str, optional
            A kind of rows, as in `to_frame`.
        **options
            With `floatfmt`, such as ".2f", numbers are in this format.
        """
        form = options.get("floatfmt")
        number = None if form is None else lambda value: format(value, form)
        return markdown(self._rows_in_words(self._kind(rows), number), options)


def estimate(mean: float, low: float, high: float, number: Any) -> str:
    """Return a mean and its interval as text, without the interval if it is nan."""
    number = number or "{:z.3f}".format
    return number(mean) if math.isnan(low) else f"{number(mean)} ({number(low)}, {number(high)})"


def in_words(rows: list[dict[str, Any]], number: Any) -> list[dict[str, Any]]:
    """Return rows with all columns and with headings in words; parameters are text without `number`."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    words = {name: _heading(name) for name in columns}
    if len(set(words.values())) < len(columns):  # a parameter has the name of a metric, for instance
        words = {name: name for name in columns}

    def cell(row: dict[str, Any], name: str) -> Any:
        value = row.get(name, "")
        # The number of digits that suits a score would print C=1e-5 as 0.0000.
        return _text_of_value(value) if name.startswith(PARAMETER) and number is None else value

    return [{words[name]: cell(row, name) for name in columns} for row in rows]


def _heading(name):
    return HEADINGS.get(name, name.removeprefix(PARAMETER).rpartition("__")[2].replace("_", " "))


def frame(rows: list[dict[str, Any]]) -> Any:
    """Return a pandas.DataFrame of rows."""
    return require("to_frame", "pandas").DataFrame(rows)


def latex(rows: list[dict[str, Any]], options: dict[str, Any]) -> str:
    """Return rows in LaTeX, escaped by default."""
    require("to_latex", "pandas", "jinja2")
    options = {"index": False, "float_format": "{:z.4f}".format, "escape": True, **options}
    number = options["float_format"]
    if options["escape"] and callable(number):  # pandas escapes no numbers
        options["float_format"] = lambda value: re.sub(r"(?<!\\)%", r"\\%", number(value))
    # Control characters mark bold cells, because pandas escapes only cells of type str.
    table = frame(rows).map(lambda cell: f"\0{cell.text}\1" if isinstance(cell, Bold) else cell)
    text: str = table.to_latex(**options)
    text = re.sub("\0(.*?)\1", r"\\textbf{\1}", text)
    if not options["escape"]:
        return text
    # pandas does not escape "[" and "*", which the \\\\ of the previous row would read as arguments.
    return re.sub(r"^(?=[\[*])", "{}", text, flags=re.MULTILINE)


def markdown(rows: list[dict[str, Any]], options: dict[str, Any]) -> str:
    """Return rows in Markdown, escaped unless `options` name another format."""
    require("to_markdown", "pandas", "tabulate")
    table = frame(rows)
    options = {"index": False, "floatfmt": "z.4f", "tablefmt": "pipe", **options}
    if "disable_numparse" not in options:  # a data set may be called 50
        options["disable_numparse"] = [
            index + bool(options["index"])
            for index, name in enumerate(table)
            if any(isinstance(value, str | Bold) for value in table[name])
        ]
    if options["tablefmt"] in ("pipe", "github"):
        table = table.apply(lambda column: column.map(_escaped)).rename(columns=_escaped)
    table = table.apply(lambda column: column.map(lambda cell: getattr(cell, "text", cell)))
    text: str = table.to_markdown(**options)
    return text


def _text_of_value(value):
    """Return a parameter as text on one line, with at most six digits."""
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return " ".join(text.split())


def _escaped(value):
    """Return a text with Markdown's markup escaped, and any other value unchanged."""
    if isinstance(value, Bold):
        return f"**{value.text}**"
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
        scores = [f"{fold.scores[metric]:z.4f}" for metric in metrics]
        rows.append([str(number), *scores, f"{fold.fit_time:.3g}", setting_as_text(fold.best_params)])
    rows.append(["mean", *(f"{study.mean(metric):z.4f}" for metric in metrics), "", ""])
    for name, interval in (("T", study.interval), ("corrected", study.corrected_interval)):
        ends = zip(*(interval(metric) for metric in metrics), strict=True)
        for end, values in zip(("from", "to"), ends, strict=True):
            rows.append([f"95 % {name} {end}", *(f"{value:z.4f}" for value in values), "", ""])
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
