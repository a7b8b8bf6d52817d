"""`margins train`: a model file from samples, and a report of what is proven about it."""

import contextlib
import os
import time
import warnings

import click

from margins.cli import direct, models
from margins.cli.errors import DONE, NOT_PROVEN, CommandError, samples_of
from margins.cli.files import MODEL, check_output, check_replaceable, write_whole
from margins.cli.output import live_progress, note, print_json
from margins.cli.samples import arrays_of, check_alike, classifier_of, name_of, note_of
from margins.cli.streams import check_streamed, model_and_chunks, reason_to_stream
from margins.optional import require
from margins.text import aligned

# Numbers of a certificate, in the order of the report.
PROVEN = ("gap", "fraction", "improvement", "primal", "dual", "margin", "upper_bound")


def train(files, output, stream, algorithm, parameters, read, scale, force, quiet, as_json):
    """Train a classifier on files, write it to a model file, and return the exit code."""
    data, path = files_and_model(files, output)
    sources = read(*data)
    check_replaceable(path, MODEL, [source.path for source in sources], force)
    if as_json or not quiet:
        check_output()
    as_text = not path.lower().endswith(models.SKOPS)
    if as_text:
        models.check_as_text(path, sources[0], scale)
    else:
        require("margins train", "skops")  # which writes the model file
    may_be_direct = as_text and not stream and sources[0].kind == "svmlight"
    usual = direct.usual_classifier(algorithm, parameters) if may_be_direct else None
    is_direct = usual is not None
    # Either reports wrong parameters before wrong files.
    classifier = models.checked(usual) if is_direct else models.make_classifier(algorithm, parameters)
    check_alike(sources)
    reason = reason_to_stream(sources, stream, may_stream=output is not None)
    if reason is not None:
        is_direct, classifier = False, models.make_classifier(algorithm, parameters)
        check_streamed(classifier, sources, reason)
        note_of(sources[0], f"{name_of(sources)}: streamed, because {reason}.")
    known = []
    with live_progress(not quiet) as show:
        started = time.perf_counter()
        if is_direct:
            model, samples = classifier, arrays_of(sources)
            models.set_bounds(model, sources[0], samples)
            model.class_weight = models.of_labels(model.class_weight, samples.labels)
            shape = samples.shape
        elif reason is not None:
            model, samples, shape, known = model_and_chunks(classifier, scale, sources)
        else:
            model, samples = models.model_and_samples(classifier, scale, *sources)
            shape = samples.X.shape
        was_read = time.perf_counter()
        with samples_of(name_of(sources)):
            if show is not None:
                show("training")
            messages = _fit(model, classifier, samples, is_direct, show)
        trained = time.perf_counter()
        if sources[0].kind == "svmlight":  # files to predict are read in the same way
            classifier_of(model).first_index_ = sources[0].first_index
        contents = models.contents_of_model(model, as_text)
    write_whole(path, contents)
    seconds = {"reading": was_read - started, "training": trained - was_read}
    seconds["writing"] = time.perf_counter() - trained
    report = report_of(algorithm, parameters, classifier_of(model), shape, seconds)
    report["model"] = path
    for message in messages:
        if message not in known:
            note(f"warning: {message}")
    if as_json:
        print_json(report)
    elif not quiet:
        print_report(report, getattr(classifier_of(model), "certificates_", []))
    return DONE if report["converged"] else NOT_PROVEN


def files_and_model(files, output):
    """Split the arguments of `train` into data files and the model file: list of str, str."""
    if output is not None:
        return list(files), output
    if len(files) == 1 and files[0] == "-":
        raise click.MissingParameter(param_hint="'MODEL'", param_type="argument")
    if len(files) == 1:  # as LIBLINEAR and LIBSVM do
        return list(files), f"{os.path.basename(os.path.normpath(files[0]))}.model"
    if len(files) > 2:
        raise CommandError(
            f"train takes DATA and MODEL, or any number of data files with -o MODEL. Got {len(files)} "
            "files without -o. Give the model file with -o."
        )
    return [files[0]], files[1]


def _fit(model, classifier, samples, is_direct, show):
    """Fit a model to CsrArrays, Samples or chunks, and return its warnings."""
    warning = None
    with messages_of(show, model) as messages:
        if is_direct:
            warning = direct.fit(model, samples)
        elif hasattr(samples, "X"):
            model.fit(*samples)
        else:
            classifier.fit(samples, None)
    return [*messages, warning] if warning else messages


@contextlib.contextmanager
def messages_of(show, model=None):
    """Return a context with the list of its warnings, as text; `show` gets lines of progress."""
    from margins.estimators.messages import progress_to

    classifier, messages = None if show is None else classifier_of(model), []
    reports = hasattr(classifier, "verbose")
    if reports:
        verbose, classifier.verbose = classifier.verbose, 1
    try:
        with (
            warnings.catch_warnings(record=True) as caught,
            contextlib.nullcontext() if show is None else progress_to(show),
        ):
            warnings.simplefilter("always")
            yield messages
    finally:
        if reports:
            classifier.verbose = verbose
    messages += dict.fromkeys(str(warning.message) for warning in caught)


def report_of(name, parameters, classifier, shape, seconds):
    """Return the report that `train` prints, as a dict."""
    from margins.estimators.fitted import n_features_of
    from margins.training.schemes import fitted_scheme

    classes = classifier.classes_.tolist()
    certificates = getattr(classifier, "certificates_", [])
    labels = fitted_scheme(classifier).labels(classifier.classes_)
    return {
        "algorithm": name,
        "parameters": parameters,
        "n_samples": shape[0],
        "n_features": shape[1],
        "n_features_in_use": n_features_of(classifier),
        "classes": classes,
        "solver": getattr(classifier, "solver_", None),
        "converged": bool(getattr(classifier, "converged_", True)),
        "epochs": getattr(classifier, "n_iter_", None),
        "updates": getattr(classifier, "n_updates_", None),
        "certificates": [
            {"class": label} | {name: getattr(certificate, name) for name in PROVEN}
            for label, certificate in zip(labels, certificates, strict=False)
        ],
        "seconds": seconds,
    }


def print_report(report, certified):
    """Print the report of a fit, and the sentence of its certificate with the largest gap."""
    settings = "".join(f" {key}={value}" for key, value in report["parameters"].items())
    certificates = report["certificates"]
    seconds = ", ".join(f"{step} {value:.3g} s" for step, value in report["seconds"].items())
    sizes = f"with {report['n_features']} features and {len(report['classes'])} classes"
    pairs = [
        ("algorithm", report["algorithm"] + settings),
        ("samples", f"{report['n_samples']}, {sizes}"),
        ("solver", report["solver"]),
    ]
    if report["n_features_in_use"] is not None and "penalty" in report["parameters"]:
        pairs.insert(2, ("features in use", report["n_features_in_use"]))
    if certified:
        worst = max(certified, key=lambda certificate: certificate.gap)
        pairs.append(("proven" if len(certified) == 1 else "proven at least", worst))
    pairs += [("converged", "yes" if report["converged"] else "no"), ("time", seconds)]
    print(aligned([*pairs, ("model", report["model"])], left=(0, 1)))
    if 1 < len(certificates) <= 30:
        print()
        rows = [
            (proof["class"], f"{proof['gap']:.4g}", f"{proof['fraction']:.6g}", f"{proof['primal']:.6g}")
            for proof in certificates
        ]
        print(aligned([("class", "gap", "fraction", "primal"), *rows]))
