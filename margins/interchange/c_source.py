"""Classifiers in C: one file of C99 without dependencies, for programs without Python."""

import textwrap
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils.extmath import row_norms

from margins._version import __version__
from margins.data.validation import validate_points
from margins.decremental.scores import possible_labels
from margins.estimators.fitted import dense_coef
from margins.estimators.names import display_name
from margins.estimators.predictions import check_exportable, is_calibrated, selected
from margins.interchange.onnx import exported_labels, problem_duals, support_vectors
from margins.parameters import OneOf, check
from margins.training.schemes import fitted_scheme

# Types of weights, in C, with the largest integer.
TYPES = {
    "double": ("double", 0),
    "float": ("float", 0),
    "int16": ("int16_t", 32767),
    "int8": ("int8_t", 127),
}
# Kernel values in C, from the sum over all features of the terms.
PRODUCT = "vector[i][j] * z[j]"
KERNELS = {
    "rbf": ("(vector[i][j] - z[j]) * (vector[i][j] - z[j])", "exp(-{gamma!r} * sum)"),
    "poly": (PRODUCT, "pow({gamma!r} * sum + {coef0!r}, {degree!r})"),
    "sigmoid": (PRODUCT, "tanh({gamma!r} * sum + {coef0!r})"),
}
LINEAR_SCORES = """\
    for (int k = 0; k < PROBLEMS; k++) {{
        double sum = 0.0;
        for (int j = 0; j < MARGINS_FEATURES; j++)
            sum += weight[k][j] * z[j];
        value[k] = {scale}sum + intercept[k];
    }}
"""
KERNEL_SCORES = """\
    for (int k = 0; k < PROBLEMS; k++)
        value[k] = intercept[k];
    for (int i = 0; i < VECTORS; i++) {{
        double sum = 0.0;
        for (int j = 0; j < MARGINS_FEATURES; j++)
            sum += {term};
        sum = {kernel};
        for (int k = 0; k < PROBLEMS; k++)
            value[k] += weight[k][i] * sum;
    }}
"""
# The scores of pairs make votes: margins.training.schemes.OneVsOne.
VOTES = """\
    double sums[MARGINS_CLASSES] = {0.0};
    for (int i = 0; i < MARGINS_CLASSES; i++)
        scores[i] = 0.0;
    for (int i = 0, pair = 0; i < MARGINS_CLASSES; i++)
        for (int j = i + 1; j < MARGINS_CLASSES; j++, pair++) {
            scores[value[pair] > 0.0 ? i : j] += 1.0;
            sums[i] += value[pair];
            sums[j] -= value[pair];
        }
    for (int i = 0; i < MARGINS_CLASSES; i++)
        scores[i] += sums[i] / (3.0 * (fabs(sums[i]) + 1.0));
"""
LARGEST_SCORE = """\
    int best = 0;
    for (int i = 1; i < MARGINS_CLASSES; i++)
        if ({score_i} > {score_best})
            best = i;
    return best;
"""
FILE = """\
/* Model of margins {version}: {name}, {kernel}, {n_features} features, {n_classes} classes.
 *
 * margins_predict returns the number of the predicted class, whose label is margins_labels[number]:
 * the labels are in ascending order, the first has the number 0. margins_scores writes what
 * decision_function returns: of two classes one score, positive for the second, else one for each.{note}
 * C99: link the mathematical library (-lm).
 */
#include <math.h>
#include <stdint.h>

enum {{
    MARGINS_FEATURES = {n_features},
    MARGINS_CLASSES = {n_classes},
    MARGINS_SCORES = {n_scores},
    PROBLEMS = {n_problems}{vectors}
}};

void margins_scores(const double x[], double scores[]);
int margins_predict(const double x[]);

{arrays}
/* x: MARGINS_FEATURES numbers. scores: room for MARGINS_SCORES numbers. */
void margins_scores(const double x[], double scores[])
{{
{scores}}}

int margins_predict(const double x[])
{{
    double scores[MARGINS_SCORES];
    margins_scores(x, scores);
{predict}}}
"""


def to_c(model: Any, *, weights: str = "double", X: Any = None) -> str:
    """Write a fitted classifier as one file of C99, which needs only C's mathematical library.

    The file has the functions ``void margins_scores(const double x[], double scores[])``, which writes
    what `decision_function` returns, and ``int margins_predict(const double x[])``, which returns the
    number of a class in the array `margins_labels`. Support vectors are dense.

    Parameters
    ----------
    model : fitted classifier of margins, or Pipeline of a MaxAbsScaler and one
    weights : {"double", "float", "int16", "int8"}
        Type in which a linear classifier's weights are stored. Integers have a scale for each binary
        problem. Sums are double in any case.
    X : array-like or sparse matrix, shape (n_samples, n_features), optional
        Samples of which a linear classifier's labels must stay the same. They do if ``|dw . x|`` and the
        rounding of sums are less than the score, for dw the change of the weights.

    Raises
    ------
    TypeError
        If the classifier votes, predicts by probabilities, or has a kernel other than linear, rbf, poly
        and sigmoid, or if it is a Pipeline with other steps.
    ValueError
        If labels in `X` may change, with their number; if `weights` or `X` is given with a kernel; if a
        weight is too large for a float, or a label is a date or an integer above 2**63 - 1.

    See Also
    --------
    to_onnx : Writes a model for onnxruntime.

    Examples
    --------
    >>> import margins
    >>> from margins.interchange import to_c
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> source = to_c(margins.MarginClassifier().fit(X, y), weights="int16", X=X[:100])
    >>> "int margins_predict(const double x[])" in source
    True
    """
    check("weights", "to_c", weights, OneOf(*TYPES))
    classifier, divisor = _classifier_and_divisor(model)
    check_exportable(classifier, "to_c")
    scheme, kernel = fitted_scheme(classifier), classifier.kernel_
    arrays: dict[str, tuple[str, str, NDArray[Any]]] = {}
    note, vectors, start = "", "", "    const double *z = x;\n"
    if divisor is not None:
        arrays["divisor"] = "double", "[MARGINS_FEATURES]", divisor
        start = (
            "    double z[MARGINS_FEATURES];\n    for (int j = 0; j < MARGINS_FEATURES; j++)\n"
            "        z[j] = x[j] / divisor[j];\n"
        )
    if hasattr(classifier, "coef_"):
        coef = dense_coef(classifier)
        stored, scale = _stored(coef, weights)
        note = _proof(model, classifier, stored * scale - coef, weights, X, divisor)
        arrays["weight"] = TYPES[weights][0], "[PROBLEMS][MARGINS_FEATURES]", stored
        if weights.startswith("int"):
            arrays["scale"] = "double", "[PROBLEMS]", scale.ravel()
        sums = LINEAR_SCORES.format(scale="scale[k] * " if "scale" in arrays else "")
    else:
        if kernel.name not in KERNELS:
            raise TypeError(f"kernel of to_c must be linear, {', '.join(KERNELS)}. Got {kernel!r}.")
        if weights != "double" or X is not None:
            raise ValueError(f"weights and X of to_c are for linear classifiers. Got {kernel!r}.")
        values = support_vectors(classifier)
        vectors = f",\n    VECTORS = {len(values)}"
        arrays["vector"] = "double", "[VECTORS][MARGINS_FEATURES]", values
        arrays["weight"] = "double", "[PROBLEMS][VECTORS]", problem_duals(classifier)
        term, formula = KERNELS[kernel.name]
        numbers = {name: float(value) for name, value in vars(kernel).items()}
        sums = KERNEL_SCORES.format(term=term, kernel=formula.format(**numbers))
    arrays["intercept"] = "double", "[PROBLEMS]", np.asarray(classifier.intercept_, np.float64)
    n_classes = len(classifier.classes_)
    target = "    double value[PROBLEMS];\n" if scheme.has_pairs else "    double *value = scores;\n"
    predict = "    return scores[0] > 0.0;\n"
    if n_classes > 2:
        names = {"score_i": "scores[i]", "score_best": "scores[best]"}
        if scheme.has_pairs:  # votes decide, and are less than half away from the scores
            names = {key: f"round({name})" for key, name in names.items()}
        predict = LARGEST_SCORE.format(**names)
    return FILE.format(
        version=__version__,
        name=display_name(classifier),
        kernel="linear" if hasattr(classifier, "coef_") else f"kernel {kernel.name}",
        note=note,
        n_features=classifier.n_features_in_,
        n_classes=n_classes,
        n_scores=1 if n_classes == 2 else n_classes,
        n_problems=scheme.n_problems,
        vectors=vectors,
        arrays=_labels(classifier) + "".join(_array(name, *array) for name, array in arrays.items()),
        scores=target + start + sums + (VOTES if scheme.has_pairs else ""),
        predict=predict,
    )


def _classifier_and_divisor(model: Any) -> tuple[Any, NDArray[np.float64] | None]:
    """Return the classifier of a model, and the numbers by which a MaxAbsScaler before it divides."""
    *steps, (_, last) = getattr(model, "steps", [("", model)])
    scalers = [step for _, step in steps if step not in (None, "passthrough")]
    if any(type(each) is not MaxAbsScaler or getattr(each, "clip", False) for each in scalers):
        raise TypeError(
            "model of to_c must be a classifier, or a Pipeline of a MaxAbsScaler and one. "
            f"Got {model!r}."
        )
    if is_calibrated(last):
        raise TypeError(
            "model of to_c must predict by scores. Got one with calibration: export its estimator_."
        )
    return selected(last), np.prod([each.scale_ for each in scalers], axis=0) if scalers else None


def _stored(coef: NDArray[np.float64], weights: str) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return weights in the type that stores them, and their scales, of shape (n_problems, 1)."""
    scale, largest = np.ones((len(coef), 1)), TYPES[weights][1]
    if not largest:
        with np.errstate(over="ignore"):
            stored = coef.astype("f4" if weights == "float" else "f8")
        if not np.isfinite(stored).all():
            raise ValueError(
                f"weights of to_c must be 'double' for weights above {np.finfo('f4').max:.3g}. "
                f"Got {weights!r} and a weight of {np.abs(coef).max():.3g}."
            )
        return stored, scale
    scale = np.abs(coef).max(axis=1, keepdims=True) / largest
    integers = np.rint(coef / np.where(scale > 0, scale, 1.0))
    # Of all scales of these integers, the closest to the weights.
    squares = (integers**2).sum(axis=1, keepdims=True)
    scale = (integers * coef).sum(axis=1, keepdims=True) / np.maximum(squares, 1.0)
    return integers.astype(int), scale


def _proof(
    model: Any, classifier: Any, change: NDArray[np.float64], weights: str, X: Any, divisor: Any
) -> str:
    """Return what the file says of its weights; raise ValueError if the labels of X may change."""
    length = np.linalg.norm(change, axis=1).max()
    text = f"\n * Weights are {weights}, within {length:.3g} of the model's in the 2-norm."
    if X is None:
        return "" if weights == "double" else text
    Z = validate_points(classifier, X if divisor is None else model[:-1].transform(X))
    coef, intercept = dense_coef(classifier), np.asarray(classifier.intercept_)
    scheme, scores = fitted_scheme(classifier), np.asarray(Z @ coef.T + intercept)
    shifts = np.asarray(Z @ change.T)
    # Sums in any order are rounded by at most this much.
    lengths = np.maximum(np.linalg.norm(coef, axis=1), np.linalg.norm(coef + change, axis=1))
    errors = row_norms(Z)[:, None] * lengths + np.abs(intercept)
    errors *= np.finfo(float).eps * (Z.shape[1] + 4)
    if len(coef) > 1 and not scheme.has_pairs:  # relative to the winner, whose own lead does not change
        of_winner = np.arange(len(scores)), scores.argmax(axis=1)
        leads, shifts = (values - values[of_winner][:, None] for values in (scores, shifts))
        scores, errors = leads, errors + errors[of_winner][:, None]
        errors[of_winner] = 0.0
    reach = np.abs(shifts) + errors
    is_sure = possible_labels(scheme, scores - reach, scores + reach).sum(axis=1) == 1
    n_changed = int((~is_sure).sum())
    if n_changed:
        raise ValueError(
            f"weights of to_c must not change the label of a sample in X. With {weights!r}, up to "
            f"{n_changed} of {len(scores)} labels may change. Take a wider type, or leave the samples "
            "out."
        )
    return f"{text}\n * This changes none of the labels of the {len(scores)} samples it was checked on."


def _labels(classifier: Any) -> str:
    labels = exported_labels(classifier)
    kinds = {"i": "const long long ", "f": "const double ", "U": "const char *const "}
    forms = {"i": "{}LL".format, "f": repr, "U": _string}
    texts = map(forms[labels.dtype.kind], labels.tolist())
    # The literal of the smallest integer would be the negative of one that is too large.
    lines = ",\n".join(f"    {text}" for text in texts).replace(f"{-(2**63)}LL", "INT64_MIN")
    return f"{kinds[labels.dtype.kind]}margins_labels[MARGINS_CLASSES] = {{\n{lines}\n}};\n"


def _string(text: str) -> str:
    """Return a string literal of UTF-8."""
    codes = (
        chr(c) if chr(c).isalnum() and c < 128 or c in b" _-." else f"\\{c:03o}" for c in text.encode()
    )
    return f'"{"".join(codes)}"'


def _array(name: str, kind: str, shape: str, values: NDArray[Any]) -> str:
    """Return the definition of an array of one or two dimensions."""
    suffix = "f" if kind == "float" else ""
    lines = textwrap.TextWrapper(100, "    ", "    ")
    rows = [lines.fill(", ".join(f"{value}{suffix}" for value in row)) for row in np.atleast_2d(values)]
    text = rows[0] if values.ndim == 1 else ",\n".join(f"    {{\n{row}\n    }}" for row in rows)
    return f"static const {kind} {name}{shape} = {{\n{text}\n}};\n"
