"""Classifiers from options, and model files."""

import os
import warnings

from margins.cli.errors import DONE, CommandError, accessing, unreadable
from margins.cli.files import C_SOURCE, ONNX, check_replaceable, contents_of, write_whole
from margins.cli.output import label_text, note, print_json
from margins.cli.samples import (
    TrainingColumns,
    check_alike,
    classifier_of,
    is_precomputed,
    note_of,
    read_kernel,
    read_samples,
    read_training_samples,
)
from margins.optional import require
from margins.readers.models import LinearFile, ModelText, is_model, linear_file, text_of
from margins.text import aligned

# The extension of model files in skops' format; all others are LIBLINEAR's or LIBSVM's text.
SKOPS = ".skops"
# Precisions of graphs by the type of weights.
WEIGHTS_OF_ONNX = {"double": "float64", "float": "float32"}
# Words that shell users write, and their Python values.
WORDS = {"true": True, "false": False, "none": None, "inf": float("inf")}


def parameters_of(settings):
    """Return a dict of parameters from texts ``name=value``."""
    parameters = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not name.strip():
            raise CommandError(f"A parameter must be given as NAME=VALUE. Got {setting!r}.")
        name = name.strip()
        if name in parameters:
            raise CommandError(f"{name} may be given only once. Got several -p {name}.")
        parameters[name] = value_of(text.strip())
    return parameters


def value_of(text):
    """Return the value of a text: true, false, none, inf, a Python literal, or the text itself."""
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    import ast

    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def class_weight_of(text):
    """Return the class weights that an option states: "balanced" or a dict."""
    if text == "balanced":
        return text
    weights = {}
    for part in text.split(","):
        label, equals, weight = (each.strip() for each in part.rpartition("="))
        factor = value_of(weight)
        if not equals or isinstance(factor, bool) or not isinstance(factor, (int, float)):
            raise CommandError(
                f"--class-weight must be balanced, or LABEL=WEIGHT,... with numbers. Got {text!r}."
            )
        if label in weights:
            got = f"several of {label}: {text!r}"
            raise CommandError(f"A class weight may be given only once. Got {got}.")
        weights[label] = factor
    return weights


def of_labels(weights, labels):
    """Return class weights of the labels that are written like their keys, or are the same number."""
    if not isinstance(weights, dict):
        return weights
    is_number = labels.dtype.kind in "iuf"
    written = {str(label): label for label in set(labels.tolist())}

    def label_of(key):
        other = value_of(key) if is_number and isinstance(key, str) else key
        return written.get(str(key), other)

    found = {label_of(key): weight for key, weight in weights.items()}
    if len(found) < len(weights):
        raise CommandError(f"A class weight may be given only once. Got {weights!r}.")
    return found


def bounds_of(text):
    """Return the bounds that an option states: a value, or a dict by feature, None for all others."""
    if "=" not in text:
        return value_of(text)
    bounds = {}
    for part in text.split(","):
        feature, equals, bound = (each.strip() for each in part.rpartition("="))
        key = feature if equals else None
        if key in bounds:
            raise CommandError(
                f"A bound may be given only once. Got several of {key or 'all'}: {text!r}."
            )
        bounds[key] = value_of(bound)
    return bounds


def make_classifier(name, parameters, kernels=()):
    """Return a classifier by its registered name, or raise an error about what is wrong.

    Parameters of a kernel must belong to the kernel of the classifier, or to one of `kernels`.
    """
    import difflib

    import margins

    algorithm = margins.get(name)
    allowed = sorted(algorithm().get_params(deep=False))
    for parameter in parameters:
        if parameter not in allowed:
            close = difflib.get_close_matches(parameter, allowed, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise CommandError(
                f"Algorithm {name!r} has no parameter {parameter!r}.{hint} Its parameters: "
                f"{', '.join(allowed)}."
            )
    classifier = checked(algorithm(**parameters))
    kernels = kernels or [getattr(classifier, "kernel", None)]
    for parameter in parameters:
        if not _has_effect(algorithm, parameter, kernels):
            names = ", ".join(dict.fromkeys(map(str, kernels)))
            raise CommandError(
                f"{parameter} of algorithm {name!r} has no effect with the kernel {names}. "
                "Leave it out, or choose another kernel."
            )
    return classifier


def _has_effect(algorithm, parameter, kernels):
    """Return False for a parameter of named kernels, none of which is among `kernels`."""
    from margins.estimators.algorithm import Algorithm
    from margins.kernels import KERNELS
    from margins.kernels.selection import parameters_of

    if not any(parameter in parameters_of(kernel) for kernel in KERNELS):
        return True
    # An algorithm may declare a parameter of this name with another meaning.
    fields = [
        getattr(each, "__dataclass_fields__", {}).get(parameter) for each in (algorithm, Algorithm)
    ]
    is_other = fields[0] is None or fields[0].metadata["allowed"] is not fields[1].metadata["allowed"]
    return is_other or any(parameter in parameters_of(kernel) for kernel in kernels)


def checked(classifier):
    """Return a classifier, or raise a ValueError about its parameters."""
    if hasattr(classifier, "check_parameters"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a fit warns again
            classifier.check_parameters()
    return classifier


def check_as_text(path, source, scale):
    """Raise CommandError if a model of a file cannot be written as LIBLINEAR's or LIBSVM's text."""
    why_not = "columns with names" if source.is_table else "--scale" if scale else None
    why_not = why_not or ("--zero-based" if source.zero_based else None)
    if why_not is not None:
        raise CommandError(
            f"{path}: must end in .skops for a model of {why_not}, which the formats of LIBLINEAR and "
            "LIBSVM cannot hold."
        )


def contents_of_model(model, as_text):
    """Return the contents of a model file: text of LIBLINEAR or LIBSVM, or skops' format (bytes)."""
    if not as_text:
        import io

        from margins import persistence

        file = io.BytesIO()
        persistence.dump(model, file)
        return file.getvalue()
    try:
        if getattr(model, "is_light", False):
            return text_of(linear_file(model, model.coef_))
        from margins.interchange.libsvm import model_file

        return text_of(model_file(model))
    except (TypeError, ValueError) as error:
        raise CommandError(f"{error} Or give a MODEL that ends in .skops.") from error


def with_columns(classifier, source, samples, scale):
    """Return the classifier, or a Pipeline that first encodes categories and, with `scale`, scales."""
    X, y = samples
    classifier.class_weight = of_labels(classifier.class_weight, y)
    if source.is_table and "Unnamed: 0" in X:
        from margins.readers.csv import note_of_index

        note_of(source, note_of_index(source.path))
    steps = []
    if source.categorical:
        from sklearn.compose import ColumnTransformer
        from sklearn.preprocessing import OneHotEncoder

        numbers = [name for name in X.columns if name not in source.categorical]
        encoder = OneHotEncoder(handle_unknown="ignore")
        columns = [
            ("categories", encoder, list(source.categorical)),
            ("numbers", "passthrough", numbers),
        ]
        steps.append(("columns", ColumnTransformer(columns)))
    if scale:
        from sklearn.preprocessing import MaxAbsScaler

        steps.append(("scale", MaxAbsScaler()))
    model = classifier
    if steps:
        from sklearn.pipeline import Pipeline

        model = Pipeline([*steps, ("classifier", classifier)])
    set_bounds(model, source, X)
    return model


def set_bounds(model, source, X):
    """Replace the bounds of the classifier in a model by bounds without names, for features of X."""
    classifier = classifier_of(model)
    penalty = getattr(classifier, "penalty", "l2")
    if isinstance(penalty, str):
        return
    has_columns = source.is_table and model is classifier
    if source.is_table and not has_columns:
        model[:-1].fit(X)
    try:
        names = list(X) if has_columns else feature_names(model, X.shape[1], source.first_index)
        classifier.penalty = penalty.for_features(names)
    except ValueError as error:
        raise CommandError(str(error)) from error


def model_and_samples(classifier, scale, *sources):
    """Return the classifier or pipeline that a command fits or explains, and the samples."""
    is_kernel = sources[0].kind == "svmlight" and is_precomputed(classifier)
    samples = read_kernel(sources) if is_kernel else read_samples(*sources)
    return with_columns(classifier, sources[0], samples, scale), samples


def read_model(path, trusted=(), as_file=False):
    """Return the model in a file, of `trusted` plug-in types too; `as_file`: it may be a LinearFile."""
    contents = b"" if path.lower().endswith(SKOPS) else contents_of(path)
    if is_model(contents):
        model = ModelText(contents, path).model()
        if as_file and isinstance(model, LinearFile):
            return model
        from margins.interchange.libsvm import classifier_of_file

        return classifier_of_file(model, path)
    require(f"{path}: reading a model file", "skops")
    from margins import persistence

    try:
        with accessing(path, "read"):
            model = persistence.load(path, trusted=trusted)
    except ValueError as error:
        message = str(error).replace("give their names as `trusted`", "name them with --trust")
        order = "" if path.lower().endswith(SKOPS) else "; the model comes before the data"
        raise unreadable(message + order) from error
    if not hasattr(model, "classes_"):
        raise unreadable(f"{path}: must hold a fitted classifier. Got one that is not fitted.")
    return model


def weights(model, top, trusted, as_json):
    """Print a model's features with the largest weights, class by class, and return the exit code."""
    path, model = model, read_model(model, trusted)
    classifier = classifier_of(model)
    if not hasattr(classifier, "coef_"):
        raise CommandError(f"{path}: must hold a linear classifier, whose features have weights.")
    names = feature_names(model, classifier.n_features_in_, getattr(classifier, "first_index_", 1))
    rows = [
        {"class": label, "feature": names[j], "weight": coefs[j]}
        for label, coefs in _coefs_by_label(classifier)
        for j in abs(coefs).argsort(kind="stable")[::-1][:top]
        if coefs[j]
    ]
    if as_json:
        print_json(rows)
    else:
        table = [(row["class"], row["feature"], f"{row['weight']:.6g}") for row in rows]
        print(aligned([("class", "feature", "weight"), *table]))
    return DONE


def _coefs_by_label(classifier):
    """Yield the class or classes of each row of `coef_`, and the row: str, ndarray of shape (d,)."""
    from margins.training.schemes import fitted_scheme

    coefs = classifier.coef_
    labels = fitted_scheme(classifier).labels(classifier.classes_)
    for label, row in zip(labels, coefs.toarray() if hasattr(coefs, "toarray") else coefs, strict=True):
        if isinstance(label, tuple):
            label = f"{label_text(label[0])}, not {label_text(label[1])}"
        yield label_text(label), row


def feature_names(model, n_features, first):
    """Return the names of the features of the classifier in a model, in svmlight their indices."""
    if hasattr(model, "feature_names_in_"):
        if hasattr(model, "steps"):
            names = model[:-1].get_feature_names_out().tolist()
            return [name.removeprefix("categories__").removeprefix("numbers__") for name in names]
        return model.feature_names_in_.tolist()
    return [str(first + j) for j in range(n_features)]


def export(model, output, data, double, weights, trusted, read, force, quiet):
    """Convert a model file to ONNX or C in the file `output`, and return the exit code."""
    is_c, sources = output.lower().endswith(".c"), read(*data)
    if is_c and double:
        raise CommandError("--double is for ONNX. In C, weights are double unless --weights is given.")
    if not is_c and (data or weights not in (None, *WEIGHTS_OF_ONNX)):
        raise CommandError("Integers and DATA are for C: give an OUTPUT that ends in .c.")
    if not data and read(os.devnull)[0].has_options:
        raise CommandError(
            "Options for reading DATA need DATA: samples whose labels must stay the same."
        )
    check_replaceable(output, C_SOURCE if is_c else ONNX, [model, *data], force)
    if not is_c:
        require("margins export", "skl2onnx", "skops")
    path, model = model, read_model(model, trusted)
    X = None
    if data:
        check_alike(sources)
        X, _ = read_training_samples(sources, TrainingColumns.of(model))
    try:
        from margins.interchange import to_c, to_onnx

        if is_c:
            contents = to_c(model, weights=weights or "double", X=X).encode()
        else:
            precision = WEIGHTS_OF_ONNX[weights or "double"]
            contents = to_onnx(model, double=double, precision=precision).SerializeToString()
    except (RuntimeError, TypeError, ValueError) as error:  # its contents have no such form
        language = "C" if is_c else "ONNX"
        raise unreadable(f"{path}: cannot be written in {language}: {error}") from error
    write_whole(output, contents)
    if not quiet:
        name = "x" if is_c else "X"
        note(f"{output}: {len(contents)} bytes, input {name} with {model.n_features_in_} columns")
    return DONE
