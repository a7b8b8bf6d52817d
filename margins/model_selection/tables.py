"""A study as rows: for data frames, and as readable tables."""

from collections.abc import Iterator
from typing import Any

from margins.estimators.names import display_name_of_path
from margins.model_selection.intervals import mean
from margins.text import aligned


def fold_rows(study: Any) -> Iterator[dict[str, Any]]:
    """One row for each fold: dicts."""
    for number, fold in enumerate(study.folds):
        yield {
            "fold": number,
            **_params(fold.best_params),
            **fold.scores,
            "n_train": len(fold.train),
            "n_test": len(fold.test),
            "fit_time": fold.fit_time,
            "score_time": fold.score_time,
        }


def setting_rows(study: Any) -> Iterator[dict[str, Any]]:
    """One row for each setting of each table, with means over the folds: dicts."""
    for table in study.tables:
        means = {metric: table.mean_scores(metric) for metric in table.scores}
        for index, setting in enumerate(table.settings):
            yield {
                "outer": table.outer,
                "stage": table.stage,
                **_params(setting),
                **{metric: float(values[index]) for metric, values in means.items()},
                "fit_time": mean(table.fit_times[index].tolist()),
                "score_time": mean(table.score_times[index].tolist()),
                "chosen": index == table.best_index,
            }


def fit_rows(study: Any) -> Iterator[dict[str, Any]]:
    """One row for each fit of each table: dicts."""
    for table in study.tables:
        for index, setting in enumerate(table.settings):
            for inner in range(len(table.splits)):
                yield {
                    "outer": table.outer,
                    "stage": table.stage,
                    "inner": inner,
                    **_params(setting),
                    **{metric: float(scores[index, inner]) for metric, scores in table.scores.items()},
                    "fit_time": float(table.fit_times[index, inner]),
                    "score_time": float(table.score_times[index, inner]),
                }


ROWS = {"folds": fold_rows, "settings": setting_rows, "fits": fit_rows}


def _params(setting):
    """With scikit-learn's prefix: a parameter may have the name of a metric."""
    return {f"param_{name}": value for name, value in setting.items()}


def frame(rows: list[dict[str, Any]]) -> Any:
    """A pandas.DataFrame of rows."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_frame needs pandas: pip install scikit-margins[frame]") from error
    return pandas.DataFrame(rows)


def latex(table: Any, options: dict[str, Any]) -> str:
    """A pandas.DataFrame in LaTeX: str."""
    try:
        text: str = table.to_latex(**{"index": False, "float_format": "%.4f", **options})
    except ImportError as error:
        raise ImportError("to_latex needs Jinja2: pip install scikit-margins[frame]") from error
    return text


def markdown(table: Any, options: dict[str, Any]) -> str:
    """A pandas.DataFrame in Markdown: str."""
    try:
        text: str = table.to_markdown(**{"index": False, "floatfmt": ".4f", **options})
    except ImportError as error:
        raise ImportError("to_markdown needs tabulate: pip install scikit-margins[frame]") from error
    return text


def text_of(setting):
    """A setting as readable text: str.

    Examples
    --------
    >>> text_of({"tau": 0.5, "lam": 1})
    'tau=0.5 lam=1'
    """
    return " ".join(f"{name}={value!r}" for name, value in setting.items()) or "(as it is)"


def summary(study: Any) -> str:
    """A study as readable text: str."""
    metrics = study.metrics
    rows = [["fold", *metrics, "fit s", "chosen"]]
    for number, fold in enumerate(study.folds):
        scores = [f"{fold.scores[metric]:.4f}" for metric in metrics]
        rows.append([str(number), *scores, f"{fold.fit_time:.3g}", text_of(fold.best_params)])
    rows.append(["mean", *(f"{study.mean(metric):.4f}" for metric in metrics), "", ""])
    for name, interval in (("T", study.interval), ("corrected", study.corrected_interval)):
        ends = zip(*(interval(metric) for metric in metrics), strict=True)
        for what, values in zip(("from", "to"), ends, strict=True):
            rows.append([f"95 % {name} {what}", *(f"{value:.4f}" for value in values), "", ""])
    frequencies = [
        f"  {share:4.0%}  {text_of(setting)}" for setting, share in study.selection_frequencies
    ]
    how = "yes" if study.lockstep else f"no: {study.lockstep_reason}"
    name = display_name_of_path(study.estimator)
    head = f"{study.protocol} of {name}, {study.refit} decides, seed {study.seed}"
    lines = [head, f"lockstep: {how}"]
    if study.path:
        lines.append("path: yes, each fit started from the fit of the next smaller C")
    return "\n".join(
        [*lines, "", aligned(rows, left=(0, len(rows[0]) - 1)), "", "chosen by", *frequencies]
    )
