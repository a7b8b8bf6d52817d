"""`margins train`: a model file from samples, and a report of what is proven about it."""

import contextlib
import io
import time
import warnings

from margins.cli.errors import DONE, NOT_PROVEN, samples_of
from margins.cli.files import MODEL, check_output, check_replaceable, write_whole
from margins.cli.output import live_progress, note, print_json, print_pairs, print_table
from margins.optional import require

# Numbers of a certificate, in the order of the report.
PROVEN = ("gap", "fraction", "improvement", "primal", "dual", "margin", "upper_bound")


def train(files, output, stream, algorithm, parameters, read, scale, force, quiet, as_json):
    """Train a classifier on files, write it to a model file, and return the exit code."""
    from margins.cli.models import make_classifier
    from margins.cli.samples import classifier_of, name_of, note_of
    from margins.cli.several import check_alike, files_and_model, reason_to_stream
    from margins.cli.streams import check_streamed

    data, path = files_and_model(files, output)
    sources = [read(name) for name in data]
    check_replaceable(path, MODEL, [source.path for source in sources], force)
    if as_json or not quiet:
        check_output()
    require("margins train", "skops")  # which writes the model file
    from margins import persistence

    classifier = make_classifier(algorithm, parameters)  # reports wrong parameters before wrong files
    check_alike(sources)
    reason = reason_to_stream(sources, stream, may_stream=output is not None)
    if reason is not None:
        check_streamed(classifier, sources, reason)
        note_of(sources[0], f"{name_of(sources)}: streamed, because {reason}.")
    with live_progress(not quiet) as show:
        started = time.perf_counter()
        model, samples, shape, known = _model_and_samples(classifier, scale, sources, reason is not None)
        was_read = time.perf_counter()
        with samples_of(name_of(sources)):
            if show is not None:
                show("training")
            messages = fit(*samples, show)
        trained = time.perf_counter()
        if not sources[0].is_table:  # files to predict are read in the same way
            classifier_of(model).first_index_ = sources[0].first_index
        file = io.BytesIO()
        persistence.dump(model, file)
    write_whole(path, file.getvalue())
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
        print_report(report)
    return DONE if report["converged"] else NOT_PROVEN


def _model_and_samples(classifier, scale, sources, is_streamed):
    """Return the model; the estimator to fit, X and y; the shape of the samples; and notes."""
    if is_streamed:
        from margins.cli.streams import model_and_chunks

        model, chunks, shape, notes = model_and_chunks(classifier, scale, sources)
        return model, (classifier, chunks, None), shape, notes
    from margins.cli.models import model_and_samples

    model, samples = model_and_samples(classifier, scale, *sources)
    return model, (model, *samples), samples.X.shape, []


def fit(model, X, y, show=None):
    """Fit a model, and return its warnings; `show` is called with each line of progress."""
    with messages_of(show, model) as messages:
        model.fit(X, y)
    return messages


@contextlib.contextmanager
def messages_of(show, *models):
    """Return a context with the list of its warnings, as text; `show` gets lines of progress."""
    from margins.cli.samples import classifier_of
    from margins.estimators.progress import progress_to

    classifiers = [classifier_of(model) for model in models if show is not None]
    reporting = [classifier for classifier in classifiers if hasattr(classifier, "verbose")]
    verbosity, messages = [classifier.verbose for classifier in reporting], []
    for classifier in reporting:
        classifier.verbose = 1
    try:
        with (
            warnings.catch_warnings(record=True) as caught,
            contextlib.nullcontext() if show is None else progress_to(show),
        ):
            warnings.simplefilter("always")
            yield messages
    finally:
        for classifier, verbose in zip(reporting, verbosity, strict=True):
            classifier.verbose = verbose
    messages += dict.fromkeys(str(warning.message) for warning in caught)


def report_of(name, parameters, classifier, shape, seconds):
    """Return the report that `train` prints, as a dict."""
    from margins.training.schemes import fitted_scheme

    classes = classifier.classes_.tolist()
    certificates = getattr(classifier, "certificates_", [])
    labels = fitted_scheme(classifier).labels(classifier.classes_)
    return {
        "algorithm": name,
        "parameters": parameters,
        "n_samples": shape[0],
        "n_features": shape[1],
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


def print_report(report):
    """Print the report of a fit."""
    settings = "".join(f" {key}={value}" for key, value in report["parameters"].items())
    certificates = report["certificates"]
    seconds = ", ".join(f"{step} {value:.3g} s" for step, value in report["seconds"].items())
    sizes = f"with {report['n_features']} features and {len(report['classes'])} classes"
    pairs = [
        ("algorithm", report["algorithm"] + settings),
        ("samples", f"{report['n_samples']}, {sizes}"),
        ("solver", report["solver"]),
        ("epochs", f"{report['epochs']}, with {report['updates']} updates"),
    ]
    if certificates:
        worst = max(certificate["gap"] for certificate in certificates)
        least = min(certificate["fraction"] for certificate in certificates)
        pairs.append(("proven", f"gap {worst:.4g}, fraction of the maximum margin {least:.6g}"))
    pairs += [("converged", "yes" if report["converged"] else "no"), ("time", seconds)]
    print_pairs([*pairs, ("model", report["model"])])
    if 1 < len(certificates) <= 30:
        print()
        rows = [
            (proof["class"], f"{proof['gap']:.4g}", f"{proof['fraction']:.6g}", f"{proof['primal']:.6g}")
            for proof in certificates
        ]
        print_table(("class", "gap", "fraction", "primal"), rows)
