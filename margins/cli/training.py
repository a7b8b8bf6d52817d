"""`margins train`: a model file from samples, with what is proven of it."""

import time
import warnings

from margins.cli.errors import DONE, NOT_PROVEN, samples_of
from margins.cli.files import check_writable, write_whole
from margins.cli.output import live_progress, note, print_json, print_pairs, print_table


def train(source, path, name, parameters, *, scale=False, quiet=False, as_json=False):
    """Train a classifier, and write it to a file.

    Parameters
    ----------
    source : margins.cli.samples.Source
    path : str
        Of the model.
    name : str
        Of the algorithm.
    parameters : dict
    scale, quiet, as_json : bool

    Returns
    -------
    int
        The exit code.
    """
    from margins.cli import direct
    from margins.cli.models import make_classifier
    from margins.cli.samples import Samples, matrix_of, read_samples

    check_writable(path)
    with live_progress(not quiet) as show:
        started = time.perf_counter()
        is_direct = not scale and direct.serves(source, name, parameters)
        # Errors of parameters come before those of files.
        classifier = None if is_direct else make_classifier(name, parameters)
        samples = direct.read(source) if is_direct else read_samples(source)
        read = time.perf_counter()
        shape = samples.shape if is_direct else samples.X.shape
        with samples_of(source.path):
            model = direct.fitted(samples, parameters, show) if is_direct else None
            if model is None:
                if is_direct:
                    samples = Samples(*matrix_of(samples))
                    classifier = make_classifier(name, parameters)
                model = Model.trained(classifier, samples, source, scale, show)
        trained = time.perf_counter()
        contents = model.contents()
    write_whole(path, contents)
    seconds = {
        "reading": read - started,
        "training": trained - read,
        "writing": time.perf_counter() - trained,
    }
    report = report_of(name, parameters, model.classifier, shape, seconds)
    report["model"] = path
    for message in model.messages:
        note(f"warning: {message}")
    if as_json:
        print_json(report)
    elif not quiet:
        print_report(report)
    return DONE if report["converged"] else NOT_PROVEN


class Model:
    """A fitted model.

    Parameters
    ----------
    fitted : classifier, or pipeline that ends with it
    messages : list of str
        The texts of its warnings.

    Attributes
    ----------
    classifier : classifier
    messages : list of str
    """

    def __init__(self, fitted, messages):
        from margins.cli.models import classifier_of

        self._fitted, self.messages = fitted, messages
        self.classifier = classifier_of(fitted)

    @classmethod
    def trained(cls, classifier, samples, source, scale, show):
        """The model of a classifier that is trained on samples."""
        from margins.cli.models import with_columns

        if show is not None:
            show("training")
        model = with_columns(classifier, source, samples.X, scale)
        return cls(model, fit(model, samples.X, samples.y, show))

    def contents(self):
        """The contents of the model file: bytes."""
        from margins.cli.models import model_bytes

        return model_bytes(self._fitted)


def fit(model, X, y, show=None):
    """Fit a model: the texts of the warnings.

    Parameters
    ----------
    model : classifier or pipeline
    X, y : samples
    show : callable, optional
        Called with each line of progress.
    """
    from margins.cli.models import classifier_of

    classifier = classifier_of(model)
    is_ours = hasattr(classifier, "_reporter")
    if show is not None and is_ours:
        verbose, classifier.verbose = classifier.verbose, 1
        classifier._reporter = lambda: show
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X, y)
    finally:
        if show is not None and is_ours:
            classifier.verbose = verbose
            del classifier._reporter
    return list(dict.fromkeys(str(warning.message) for warning in caught))


def report_of(name, parameters, classifier, shape, seconds):
    """What `train` prints: dict."""
    classes = classifier.classes_.tolist()
    certificates = getattr(classifier, "certificates_", [])
    named = [classes[1]] if len(classes) == 2 else classes
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
            {
                "class": label,
                "gap": certificate.gap,
                "fraction": certificate.fraction,
                "primal": certificate.primal,
                "dual": certificate.dual,
                "margin": certificate.margin,
                "upper_bound": certificate.upper_bound,
            }
            for label, certificate in zip(named, certificates, strict=False)
        ],
        "seconds": seconds,
    }


def print_report(report):
    """Print the report of a fit."""
    given = "".join(f" {key}={value}" for key, value in report["parameters"].items())
    certificates = report["certificates"]
    seconds = ", ".join(f"{what} {value:.3g} s" for what, value in report["seconds"].items())
    sizes = f"of {report['n_features']} features and {len(report['classes'])} classes"
    pairs = [
        ("algorithm", report["algorithm"] + given),
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
            (each["class"], f"{each['gap']:.4g}", f"{each['fraction']:.6g}", f"{each['primal']:.6g}")
            for each in certificates
        ]
        print_table(("class", "gap", "fraction", "primal"), rows)
