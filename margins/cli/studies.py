"""`margins explain`, `path`, `compare` and `study`: help with choosing what to train."""

import contextlib

from margins.cli.direct import usual_classifier
from margins.cli.errors import DONE, FAILED, NOT_PROVEN, CommandError, samples_of, unreadable
from margins.cli.files import STUDY, check_output, check_replaceable, write_whole
from margins.cli.models import make_classifier, model_and_samples, parameters_of, value_of, with_columns
from margins.cli.output import live_progress, note, print_json
from margins.cli.samples import (
    TrainingColumns,
    check_alike,
    is_precomputed,
    name_of,
    read_points,
    read_samples,
)
from margins.optional import require
from margins.text import aligned


def explain(data, parameters, read, scale, as_json):
    """Print what `train` would do with the samples of files, and why; return the exit code."""
    sources = read(*data)
    check_output()
    classifier = make_classifier("auto", parameters)
    check_alike(sources)
    is_text = sources[0].kind == "svmlight" and not scale
    classifier.is_light = is_text and usual_classifier("auto", parameters) is not None
    model, samples = model_and_samples(classifier, scale, *sources)
    with samples_of(name_of(sources)):
        explanation = classifier.explain(_prepared(model, samples), samples.y)
    if not as_json:
        print(explanation)
        return DONE
    sizes = ("n_samples", "n_features", "n_nonzeros", "n_problems")
    names = (*sizes, "loss", "kernel", "eps", "required_gap", "solver")
    result = {name: getattr(explanation, name) for name in names}
    result |= {
        "reason": explanation.plan.reason,
        "phases": [str(phase) for phase in explanation.plan.phases],
        "candidates": [candidate._asdict() for candidate in explanation.candidates],
    }
    print_json(result)
    return DONE


def _prepared(model, samples):
    """Return X as the classifier of a model, which may be a pipeline, gets it."""
    is_pipeline = hasattr(model, "steps")
    return model[:-1].fit_transform(samples.X, samples.y) if is_pipeline else samples.X


def path(data, c_min, c_max, points, test, parameters, read, scale, quiet, as_json):
    """Print the fits of `margins.svm_path` over ascending penalties C, and return the exit code."""
    import numpy as np

    from margins.cli.training import messages_of
    from margins.estimators.path import svm_path

    sources, tests = read(data), [] if test is None else read(test)
    penalties = _penalties(c_min, c_max, points)
    check_output()
    for name in ("C", "max_time", "warm_start"):
        if name in parameters:
            raise CommandError(
                f"path does not take -p {name}: --c-min, --c-max and --points determine its fits."
            )
    classifier = make_classifier("auto", parameters)
    check_alike(sources)
    model, samples = model_and_samples(classifier, scale, *sources)
    named = parameters.keys() & {"penalty", "class_weight"}  # now of the features and labels of samples
    parameters |= {name: getattr(classifier, name) for name in named}
    trained = TrainingColumns.on(sources[0], samples)._replace(is_precomputed=is_precomputed(classifier))
    tested = [read_points(each, trained, needs_labels=True) for each in tests]
    with live_progress(not quiet) as show, samples_of(name_of(sources)):
        X = _prepared(model, samples)
        verbose = {} if show is None else {"verbose": 1}
        with messages_of(show) as messages:
            fits = svm_path(X, samples.y, penalties, **{**parameters, **verbose})
        rows = [_row_of(fitted, fitted.score(X, samples.y)) for fitted in fits.classifiers]
    for message in messages:
        note(f"warning: {message}")
    if tested:
        with samples_of(name_of(tests)):
            steps = model[:-1].transform if hasattr(model, "steps") else lambda X: X
            parts = [(steps(part.X), part.y) for part in tested]
            for row, fitted in zip(rows, fits.classifiers, strict=True):
                is_correct = [fitted.predict(X) == y for X, y in parts]
                row["test_accuracy"] = float(np.concatenate(is_correct).mean())
    if as_json:
        print_json(rows)
    else:
        header = [name.replace("_", " ") for name in rows[0] if name != "converged"]
        shown = [[value for name, value in row.items() if name != "converged"] for row in rows]
        cells = [[f"{x:.5g}" if isinstance(x, float) else x for x in row] for row in shown]
        print(aligned([header, *cells]))
    return DONE if all(row["converged"] for row in rows) else NOT_PROVEN


def _row_of(classifier, accuracy):
    from margins.estimators.fitted import n_features_of

    certificates = classifier.certificates_
    in_use = {} if classifier.penalty == "l2" else {"features_in_use": n_features_of(classifier)}
    return {
        "C": classifier.C,
        "gap": max(certificate.gap for certificate in certificates),
        "fraction": min(certificate.fraction for certificate in certificates),
        "objective": sum(certificate.primal for certificate in certificates),
        "epochs": classifier.n_iter_,
        "seconds": sum(phase.seconds for phases in classifier.phases_ for phase in phases),
        "accuracy": accuracy,
        **in_use,
        "converged": classifier.converged_,
    }


def _penalties(smallest, largest, points):
    """Return values of C from the smallest to the largest, at equal ratios: list of float."""
    from margins.solvers.specification import LARGEST_C, SMALLEST_C

    if not SMALLEST_C <= smallest <= largest <= LARGEST_C:
        raise CommandError(
            f"--c-min and --c-max must be in [{SMALLEST_C:g}, {LARGEST_C:g}] and in this order. "
            f"Got {smallest:g}, {largest:g}."
        )
    if points == 1:
        return [smallest]
    ratio = (largest / smallest) ** (1 / (points - 1))
    return [smallest * ratio**k for k in range(points - 1)] + [largest]


def compare(data, algorithms, folds, settings, read, options, scale, as_json):
    """Cross-validate algorithms on the same folds, print their differences, and return the exit code."""
    from margins.model_selection import compare as compare_studies
    from margins.model_selection import parameter_search

    sources, names, parameters = read(data), algorithms, parameters_of(settings)
    check_output()
    if as_json:
        require("margins compare --json", "pandas")
    if len(set(names)) < max(2, len(names)):
        got = ", ".join(names) or "none"
        raise CommandError(f"compare needs at least 2 algorithms, each of them once. Got {got}.")
    classifiers = {
        name: make_classifier(name, chosen) for name, chosen in _parameters_by_name(names, parameters)
    }
    _check_options("compare", classifiers.values(), options)
    check_alike(sources)
    samples = read_samples(*sources)
    _check_lengths(sources, samples, scale)
    studies = {}
    with _fits_of_study(name_of(sources)):
        for name, classifier in classifiers.items():
            model = with_columns(classifier, sources[0], samples, scale)
            studies[name] = parameter_search(model, {}, samples.X, samples.y, cv=folds, **options)
    comparison = compare_studies(studies)
    if as_json:
        means = {name: study.mean() for name, study in studies.items()}
        differences = comparison.to_frame("pairs").to_dict("records")
        print_json({"metric": comparison.metric, "means": means, "differences": differences})
    else:
        print(comparison.summary())
    return DONE


def _parameters_by_name(names, parameters):
    """Return (name, parameters) of each algorithm; raise CommandError if none takes one."""
    chosen = {name: {} for name in names}
    known = {name: make_classifier(name, {}).get_params(deep=False) for name in names}
    for key, value in parameters.items():
        name, colon, parameter = key.rpartition(":")
        takers = [name] if colon else [name for name in names if parameter in known[name]]
        if not takers or not set(takers) <= set(chosen):
            raise CommandError(
                f"-p of compare must set a parameter of one of the compared algorithms, "
                f"{', '.join(names)}. Got {key!r}."
            )
        for taker in takers:
            if parameter in chosen[taker] and not colon:
                continue  # a value for one algorithm has priority
            chosen[taker][parameter] = value
    return list(chosen.items())


def study(
    data,
    algorithm,
    grid,
    halving,
    outer,
    inner,
    cache,
    output,
    force,
    settings,
    read,
    options,
    scale,
    as_json,
):
    """Run a double cross-validation, print its result, and return the exit code."""
    from margins.model_selection import Halving, double_cross_validation, parameter_search

    sources, parameters, grid = read(data), parameters_of(settings), _grid(grid)
    check_output()
    if output is not None:
        check_replaceable(output, STUDY, [source.path for source in sources], force)
    kernels = grid.get("kernel", ())
    classifier = make_classifier(algorithm, parameters, kernels)
    for key, values in grid.items():
        if key in parameters:
            raise CommandError(f"{key} may be given only once. Got -p {key} and -g {key}.")
        for value in values:
            make_classifier(algorithm, {**parameters, key: value}, kernels)
    _check_options("study", [classifier], options, cache)
    check_alike(sources)
    model, samples = model_and_samples(classifier, scale, *sources)
    _check_lengths(sources, samples, scale)
    if model is not classifier:
        grid = {f"classifier__{key}": values for key, values in grid.items()}
    options["cache"] = cache
    has_choice = any(len(values) > 1 for values in grid.values())
    grid = grid if halving is None else Halving(grid, halving)
    with _fits_of_study(name_of(sources)):
        if has_choice or halving is not None:
            options |= {"outer": outer, "inner": inner}
            result = double_cross_validation(model, grid, samples.X, samples.y, **options)
        else:  # inner folds would choose among one setting
            result = parameter_search(model, grid, samples.X, samples.y, cv=outer, **options)
    if output is not None:
        write_whole(output, result.to_json().encode())
    print(result.to_json() if as_json else result.summary())
    return DONE


def _grid(settings):
    """Return the grid of texts ``name=value,value``: a dict of lists without repeated values."""
    grid = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not text:
            raise CommandError(f"A grid must be given as NAME=VALUE,VALUE,... Got {setting!r}.")
        values = grid.setdefault(name.strip(), {})
        values.update({part.strip(): value_of(part.strip()) for part in text.split(",")})
    return {name: list(values.values()) for name, values in grid.items()}


def _check_options(command, classifiers, options, cache=None):
    """Raise an error, before reading samples, if an option of a study is not allowed."""
    from margins.model_selection.cache import Cache
    from margins.model_selection.checks import check_jobs
    from margins.model_selection.scoring import Scoring

    metric = Scoring(options["scoring"], None, command)
    check_jobs(options["n_jobs"], command)
    for classifier in classifiers:
        if not hasattr(classifier, "predict_proba"):
            metric.check(classifier, [0, 1], command)
    if cache is not None:
        try:
            Cache(cache, command)
        except ValueError as error:
            raise unreadable(str(error)) from error


def _check_lengths(sources, samples, scale):
    """Raise CommandError, before the first fit, if the norm of a row is too large for every fit."""
    if scale or sources[0].is_table:
        return
    from margins.data.binary_data import check_lengths, rows_of

    with samples_of(name_of(sources)):
        check_lengths(rows_of(samples.X).sqnorms())


@contextlib.contextmanager
def _fits_of_study(path):
    """Return a context for a study: errors name the file, and warnings are printed at the end."""
    from margins.cli.training import messages_of
    from margins.model_selection import FitFailed

    with messages_of(None) as messages, samples_of(path):
        try:
            yield
        except FitFailed as error:
            raise CommandError(f"{path}: {error}", FAILED) from error
    for message in messages:
        note(f"warning: {message}")
