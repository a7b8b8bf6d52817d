"""What single precision does to the scores and labels of a classifier."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from margins.decremental.scores import possible_labels
from margins.estimators.fitted import dense_coef
from margins.estimators.predictions import check_exportable, selected
from margins.interchange.onnx import centre_of, problem_duals, support_vectors
from margins.optional import require
from margins.training.schemes import fitted_scheme

UNIT = 2.0**-24  # the largest relative error of one operation in single precision
FUNCTION = 8 * UNIT  # exp, tanh and powers: 4 units in the last place
SMALLEST, LARGEST = 2.0**-126, 2.0**127  # smaller numbers may be 0, and the sum of larger ones inf


class OnnxDifference(NamedTuple):
    """What a graph in ONNX changes.

    largest : float
        The largest difference of a score, or of a probability.
    n_changed : int
        Samples whose label is another one.
    n_unproven : int or None
        Samples whose label might be another one in a runtime that computes in single precision, in any
        order of its sums, with exp, tanh and powers to 4 units in the last place. None: not known, of
        Pipelines and of calibrated probabilities.
    """

    largest: float
    n_changed: int
    n_unproven: int | None


def onnx_difference(model: Any, exported: Any, X: ArrayLike) -> OnnxDifference:
    """Compare a classifier with its graph of `to_onnx`, which ONNX's own evaluator runs.

    Parameters
    ----------
    model : fitted classifier of margins, or Pipeline
        What was exported.
    exported : onnx.ModelProto
        What `to_onnx` returned.
    X : array of shape (n_samples, n_features)
        Samples, which the graph gets in the type of its input.

    Returns
    -------
    OnnxDifference
        What changes. The label of a sample is proven to stay where a bound on the rounding of its scores
        is less than their distance from what would give another label.

    Raises
    ------
    ImportError
        If onnx is not installed.

    Examples
    --------
    >>> import margins, pytest
    >>> from margins.interchange import onnx_difference, to_onnx
    >>> _ = pytest.importorskip("skl2onnx")
    >>> X, y = [[1.0, 2.0], [2.0, 1.0], [-1.0, -1.0], [-2.0, 0.0]], [1, 1, 0, 0]
    >>> fitted = margins.MarginClassifier(random_state=0).fit(X, y)
    >>> difference = onnx_difference(fitted, to_onnx(fitted, precision="float32"), X)
    >>> difference.n_changed, difference.n_unproven
    (0, 0)

    Notes
    -----
    **Source**: N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 3.1: a sum of
    n products has an error of at most n u / (1 - n u) times the sum of their absolute values.
    """
    require("onnx_difference", "onnx")
    from onnx import TensorProto
    from onnx.reference import ReferenceEvaluator

    is_double = exported.graph.input[0].type.tensor_type.elem_type == TensorProto.DOUBLE
    given = np.asarray(X, dtype=np.float64 if is_double else np.float32)
    labels, scores = map(np.asarray, ReferenceEvaluator(exported).run(None, {"X": given}))
    X = np.asarray(X, dtype=np.float64)
    has_scores = exported.graph.output[1].name == "scores"
    expected = model.decision_function(X) if has_scores else model.predict_proba(X)
    n_unproven = None
    if has_scores and not hasattr(model, "steps"):
        n_unproven = int((~_keeps_label(selected(model), X)).sum())
    largest = float(np.abs(scores - expected).max(initial=0.0))
    changed = labels.astype(str) != model.predict(X).astype(labels.dtype).astype(str)
    return OnnxDifference(largest, int(changed.sum()), n_unproven)


def _keeps_label(classifier: Any, X: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return whether the label of each sample is the same with any rounding in single precision."""
    check_exportable(classifier, "onnx_difference")
    with np.errstate(over="ignore", invalid="ignore"):  # inf and nan prove nothing
        if hasattr(classifier, "coef_"):
            coef = dense_coef(classifier)
            scores, size = X @ coef.T, _sizes(_sizes(X) @ _sizes(coef).T)
            error = _of_sum(X.shape[1], 2) * size
        else:
            dual = problem_duals(classifier)
            values, of_values = _kernel_values(classifier, X)
            scores, size = values @ dual.T, _sizes(_sizes(np.abs(values) + of_values) @ _sizes(dual).T)
            error = of_values @ _sizes(dual).T + _of_sum(dual.shape[1], 1) * size
        scores = scores + classifier.intercept_
        error += 3 * UNIT * _sizes(np.abs(scores) + error + np.abs(classifier.intercept_))
        lower, upper = np.fmax(scores - error, -np.inf), np.fmin(scores + error, np.inf)
    possible = possible_labels(fitted_scheme(classifier), lower, upper)
    return np.asarray(possible.sum(axis=1) == 1)


def _sizes(A: Any) -> NDArray[np.float64]:
    """Return absolute values, so that UNIT times them bounds the rounding; inf: outside the range."""
    sizes = np.abs(A) + 2 * SMALLEST / UNIT
    return np.where(sizes < LARGEST, sizes, np.inf)


def _of_sum(n: int, n_rounded: int) -> float:
    """Return the relative error of a sum of n products of numbers, of which some have been rounded."""
    error = (n + n_rounded + 1) * UNIT
    return error / max(1 - error, SMALLEST)


def _kernel_values(
    classifier: Any, X: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return K(x, support vector), and a bound on its error in single precision."""
    kernel = classifier.kernel_
    if kernel.name == "precomputed":
        values = X[:, classifier.support_]
        return values, UNIT * _sizes(values)
    vectors, d = support_vectors(classifier), X.shape[1]
    values, gamma = kernel.block(X, vectors), _sizes(kernel.gamma)
    if kernel.name == "rbf":
        centre = centre_of(vectors)
        far, long = _sizes(X - centre), _sizes(vectors - centre)
        # Samples and differences are rounded; then come three sums of d products.
        slip = np.linalg.norm(_sizes(X) + np.abs(centre), axis=1)[:, None] + np.linalg.norm(long, axis=1)
        slip *= 3 * UNIT
        least = np.maximum(values, SMALLEST)
        exponent = -np.log(least)
        error = 2 * np.sqrt(exponent / kernel.gamma) * slip + slip**2
        error += _of_sum(d, 4) * _sizes(2 * ((far**2).sum(axis=1)[:, None] + (long**2).sum(axis=1)))
        of_exponent = gamma * error + 2 * UNIT * gamma * (exponent / kernel.gamma + error)
        return values, least * np.expm1(of_exponent + FUNCTION) + SMALLEST
    size = _sizes(_sizes(X) @ _sizes(vectors).T)
    error = gamma * _of_sum(d, 2) * size + 5 * UNIT * _sizes(gamma * size + abs(kernel.coef0))
    if kernel.name == "sigmoid":
        return values, error + FUNCTION
    base = np.abs(kernel.gamma * (X @ vectors.T) + kernel.coef0)
    raised = (base + error) ** kernel.degree * (1 + FUNCTION)
    return values, np.where(raised < LARGEST, raised, np.inf) - base**kernel.degree + SMALLEST
