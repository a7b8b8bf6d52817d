"""`margins explain`, `path`, `compare` and `study`: what to train, before it is trained."""

import contextlib
import time
import warnings

from margins.cli.errors import DONE, NOT_PROVEN, CommandError
from margins.cli.files import check_writable, write_whole
from margins.cli.models import classifier_of, make_classifier, value_of, with_columns
from margins.cli.output import live_progress, note, print_json, print_table
from margins.cli.samples import read_points, read_samples


def explain(source, parameters, *, as_json=False):
    """Print what `train` would do, and why: the exit code."""
    classifier = make_classifier("auto", parameters)
    samples = read_samples(source)
    if source.categorical:
        model = with_columns(classifier, source, samples.X, scale=False)
        X = model[:-1].fit_transform(samples.X)
    else:
        X = samples.X
    explanation = classifier.explain(X, samples.y)
    if not as_json:
        print(explanation)
        return DONE
    names = (
        "n_samples",
        "n_features",
        "n_nonzeros",
        "n_problems",
        "loss",
        "kernel",
        "eps",
        "required_gap",
    )
    print_json(
        {
            **{name: getattr(explanation, name) for name in names},
            "solver": explanation.solver,
            "reason": explanation.plan.reason,
            "phases": [str(phase) for phase in explanation.plan.phases],
            "candidates": [candidate._asdict() for candidate in explanation.candidates],
        }
    )
    return DONE


def path(source, parameters, penalties, *, test=None, scale=False, quiet=False, as_json=False):
    """Print the fits over a sequence of C, each begun from the one before: the exit code.

    Parameters
    ----------
    source : margins.cli.samples.Source
    parameters : dict
        Of `margins.MarginClassifier`.
    penalties : list of float
        C, ascending.
    test : margins.cli.samples.Source, optional
        Samples that are predicted by every fit.
    scale, quiet, as_json : bool
    """
    classifier = make_classifier("auto", {**parameters, "C": penalties[0], "warm_start": True})
    samples = read_samples(source)
    model = with_columns(classifier, source, samples.X, scale)
    rows = []
    with live_progress(not quiet) as show:
        for fitted, seconds in fits_over_penalties(model, samples.X, samples.y, penalties, show):
            row = _row_of(classifier_of(fitted), seconds, fitted.score(samples.X, samples.y))
            if test is not None:
                points = read_points(test, fitted, needs_labels=True)
                row["test_accuracy"] = fitted.score(points.X, points.y)
            rows.append(row)
    if as_json:
        print_json(rows)
    else:
        header = ("C", "gap", "fraction", "objective", "epochs", "seconds", "accuracy")
        header += () if test is None else ("test accuracy",)
        print_table(header, [[_cell(value) for value in _shown(row)] for row in rows])
    return DONE if all(row["converged"] for row in rows) else NOT_PROVEN


def fits_over_penalties(model, X, y, penalties, show=None):
    """Fit a model with one C after the other, from the dual variables of the fit before.

    Yields
    ------
    model : the same one, fitted
    seconds : float
    """
    from margins.cli.training import fit

    for C in penalties:
        classifier_of(model).set_params(C=C)
        started = time.perf_counter()
        messages = fit(model, X, y, show)
        seconds = time.perf_counter() - started
        for message in messages:
            note(f"warning: C={C:g}: {message}")
        yield model, seconds


def _row_of(classifier, seconds, accuracy):
    certificates = classifier.certificates_
    return {
        "C": classifier.C,
        "gap": max(certificate.gap for certificate in certificates),
        "fraction": min(certificate.fraction for certificate in certificates),
        "objective": sum(certificate.primal for certificate in certificates),
        "epochs": classifier.n_iter_,
        "seconds": seconds,
        "accuracy": accuracy,
        "converged": classifier.converged_,
    }


def _shown(row):
    return [value for name, value in row.items() if name != "converged"]


def _cell(value):
    return f"{value:.5g}" if isinstance(value, float) else value


def penalties_of(smallest, largest, points):
    """C from the smallest to the largest, at equal ratios: list of float."""
    if not 0 < smallest <= largest < float("inf"):
        raise CommandError(
            f"--c-min and --c-max must be positive and in this order. Got {smallest:g}, {largest:g}."
        )
    if points == 1:
        return [smallest]
    ratio = (largest / smallest) ** (1 / (points - 1))
    return [smallest * ratio**k for k in range(points - 1)] + [largest]


def compare(source, names, *, folds, seed, n_jobs, scoring, scale=False, quiet=False, as_json=False):
    """Cross-validate algorithms on the same folds, and print the differences: the exit code."""
    from margins.model_selection import compare as compare_studies
    from margins.model_selection import parameter_search

    if len(set(names)) < 2:
        raise CommandError(f"compare needs at least 2 algorithms. Got {', '.join(names) or 'none'}.")
    classifiers = {name: make_classifier(name, {}) for name in names}
    samples = read_samples(source)
    studies = {}
    with _no_convergence_warnings():
        for name, classifier in classifiers.items():
            model = with_columns(classifier, source, samples.X, scale)
            studies[name] = _run(
                parameter_search,
                model,
                {},
                samples.X,
                samples.y,
                cv=folds,
                scoring=scoring,
                n_jobs=n_jobs,
                random_state=seed,
                progress=None if not quiet else False,
            )
    comparison = compare_studies(studies)
    if as_json:
        print_json(
            {
                "metric": comparison.metric,
                "means": {name: study.mean() for name, study in studies.items()},
                "differences": comparison.to_frame().to_dict("records"),
            }
        )
    else:
        print(comparison.summary())
    return DONE


def study(
    source,
    name,
    parameters,
    grid,
    *,
    halving=None,
    outer,
    inner,
    scoring,
    seed,
    n_jobs,
    cache=None,
    output=None,
    scale=False,
    quiet=False,
    as_json=False,
):
    """Run a double cross-validation, and print its result: the exit code."""
    from margins.model_selection import Halving, double_cross_validation

    if output is not None:
        check_writable(output)
    classifier = make_classifier(name, parameters)
    for key, values in grid.items():
        for value in values:
            make_classifier(name, {**parameters, key: value})
    samples = read_samples(source)
    model = with_columns(classifier, source, samples.X, scale)
    if model is not classifier:
        grid = {f"classifier__{key}": values for key, values in grid.items()}
    with _no_convergence_warnings():
        result = _run(
            double_cross_validation,
            model,
            grid if halving is None else Halving(grid, halving),
            samples.X,
            samples.y,
            outer=outer,
            inner=inner,
            scoring=scoring,
            n_jobs=n_jobs,
            cache=cache,
            random_state=seed,
            progress=None if not quiet else False,
        )
    if output is not None:
        write_whole(output, result.to_json().encode())
    print(result.to_json() if as_json else result.summary())
    return DONE


def grid_of(settings):
    """A grid of texts ``name=value,value``: dict of lists.

    Examples
    --------
    >>> grid_of(["C=0.1,1,inf", "loss=hinge"])
    {'C': [0.1, 1, inf], 'loss': ['hinge']}
    """
    grid = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not text:
            raise CommandError(f"A grid must be given as NAME=VALUE,VALUE,... Got {setting!r}.")
        grid[name.strip()] = [value_of(each.strip()) for each in text.split(",")]
    return grid


def _run(function, *arguments, **options):
    """The result of a study; an argument that it does not allow is an error of usage."""
    try:
        return function(*arguments, **options)
    except (TypeError, ValueError) as error:
        raise CommandError(str(error)) from error


@contextlib.contextmanager
def _no_convergence_warnings():
    """A context without warnings of convergence, which hundreds of fits would repeat."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
