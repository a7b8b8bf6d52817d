"""Classifiers in ONNX: a graph of matrix products and the kernel's formula, in double precision.

The inputs are samples of type float or double. The outputs are `label`, and `scores`, as
`decision_function` returns them, in the type of the input; instead of scores a MarginClassifierCV with
`calibration` has `probabilities`. The graph computes in double precision, so its results differ from the
classifier's only by the rounding of input and output; or in single precision, for other runtimes.
"""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from margins.estimators.base import BaseMarginClassifier
from margins.estimators.fitted import dense_coef
from margins.estimators.predictions import check_exportable, is_calibrated, selected
from margins.optional import require
from margins.registry import available, get
from margins.training.schemes import fitted_scheme

PRECISIONS = {"float64": "double", "float32": "float"}
# Users may pass `zipmap`, an option of skl2onnx for whole models: our outputs are always arrays.
OPTIONS = {"zipmap": [False], "precision": [*PRECISIONS]}
LARGEST_LABEL = int(np.iinfo(np.int64).max)


def to_onnx(
    model: Any, *, n_features: int | None = None, double: bool = False, precision: str = "float64"
) -> Any:
    """Convert a fitted classifier, or a Pipeline that ends with one, to an ONNX model.

    Parameters
    ----------
    model : fitted classifier of margins, CalibratedClassifierCV, or scikit-learn Pipeline
        skl2onnx converts the other steps of a Pipeline.
    n_features : int, optional
        Number of columns of the input; None: the number of features in the fit.
    double : bool
        Type of the input and the scores: double if True, otherwise float.
    precision : {"float64", "float32"}
        In which the graph computes. OpenCV 5.0 is wrong without a word for numbers in double precision,
        or refuses them, and quantisers skip them. `onnx_difference` says what single precision changes.

    Returns
    -------
    onnx.ModelProto
        Its input is `X`, its outputs are `label` and `scores` or, if calibrated, `probabilities`.

    Raises
    ------
    ImportError
        If skl2onnx is not installed.
    TypeError
        If the classifier votes, and so has no weight vector, or has a kernel without a formula in ONNX
        or a CalibratedClassifierCV has a `method` other than "sigmoid" and "isotonic".
    ValueError
        If a label is a date or an integer above 2**63 - 1, if the input of a Pipeline is not one matrix
        of numbers, because its first step takes text or selects columns by name, if `precision` is
        another one, or "float32" with `double`.

    Examples
    --------
    >>> import margins, pytest
    >>> from margins.interchange import to_onnx
    >>> _ = pytest.importorskip("skl2onnx")
    >>> X, y = [[1.0, 2.0], [2.0, 1.0], [-1.0, -1.0], [-2.0, 0.0]], [1, 1, 0, 0]
    >>> exported = to_onnx(margins.MarginClassifier(random_state=0).fit(X, y))
    >>> [output.name for output in exported.graph.output]
    ['label', 'scores']
    """
    if precision not in PRECISIONS or (double and precision == "float32"):
        allowed = "float64" if double else " or ".join(PRECISIONS)
        raise ValueError(
            f"precision of to_onnx with double={double} must be {allowed}. Got {precision!r}."
        )
    skl2onnx = require("to_onnx", "skl2onnx")
    is_pipeline = hasattr(model, "steps")
    last = model.steps[-1][1] if is_pipeline else model
    if not is_calibrated(last):
        last = selected(last)
    if is_pipeline:
        model = copy.copy(model)
        model.steps = [*model.steps[:-1], (model.steps[-1][0], last)]
    else:
        model = last
    classifiers = [last]
    if isinstance(last, CalibratedClassifierCV):
        check_is_fitted(last)
        _check_calibration(last.method)
        classifiers = [calibrated.estimator for calibrated in last.calibrated_classifiers_]
    for classifier in classifiers:
        check_exportable(selected(classifier) if is_calibrated(classifier) else classifier, "to_onnx")
    register_converters(*map(type, classifiers))
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    if is_pipeline:
        _check_first(model.steps[0][1])
    n_columns = model.n_features_in_ if n_features is None else n_features
    kind = DoubleTensorType if double else FloatTensorType
    options: dict[int, dict[str, Any]] = {id(last): {"zipmap": False}}
    for classifier in classifiers:
        options.setdefault(id(classifier), {})["precision"] = precision
    return skl2onnx.convert_sklearn(
        model, initial_types=[("X", kind([None, n_columns]))], target_opset=17, options=options
    )


def _check_first(step: Any) -> None:
    """Raise ValueError if the first step of a Pipeline takes text, or columns by name."""
    input_kind = "" if get_tags(step).input_tags.two_d_array else "text or dicts"
    if isinstance(step, ColumnTransformer):
        chosen = [
            name for _, _, names in step.transformers for name in np.ravel(np.array(names, object))
        ]
        if any(isinstance(name, str) or callable(name) for name in chosen):
            input_kind = "columns by name"
    if input_kind:
        raise ValueError(
            f"model of to_onnx must take a matrix of numbers. Got a Pipeline whose first step, "
            f"{type(step).__name__}, takes {input_kind}. Call margins.interchange.register_converters() "
            "and then skl2onnx.to_onnx(model, initial_types=[...]), with a name and a type for each "
            "input."
        )


def _check_calibration(method: str) -> None:
    """Raise TypeError if skl2onnx cannot convert a method, and warn if it converts it inaccurately."""
    if method not in ("sigmoid", "isotonic"):
        raise TypeError(
            f"method of CalibratedClassifierCV must be 'sigmoid' or 'isotonic' for ONNX. Got {method!r}."
        )
    if method == "isotonic":
        warnings.warn(
            "skl2onnx does not interpolate probabilities of method='isotonic': it uses the probability "
            "at the nearest score of the calibration, which may differ by a tenth.",
            UserWarning,
            stacklevel=3,
        )


def register_converters(*classes: type[BaseMarginClassifier]) -> None:
    """Let `skl2onnx.to_onnx` convert classifiers of this package, alone or within other estimators.

    Parameters
    ----------
    *classes : type
        Classes of classifiers. Default: all algorithms that can be imported, and MarginClassifierCV.
    """
    skl2onnx = require("register_converters", "skl2onnx")
    algorithms: Any = classes
    if not classes:
        names = (*available(streaming=True), *available(streaming=False))
        from margins.model_selection.classifier_cv import MarginClassifierCV

        algorithms = {MarginClassifierCV, *map(get, names)}
    for algorithm in algorithms:
        functions = _set_types, _convert
        options: dict[str, Any] = {"parser": _parse, "overwrite": True, "options": OPTIONS}
        name = f"Margins{algorithm.__name__}"
        skl2onnx.update_registered_converter(algorithm, name, *functions, **options)


# skl2onnx calls the following functions in this order.


def _parse(scope: Any, model: Any, inputs: list[Any], custom_parsers: Any = None) -> Any:
    """Declare the operator of a classifier and its outputs."""
    from skl2onnx.common.data_types import FloatTensorType, Int64TensorType

    operator = scope.declare_local_operator(f"Margins{type(model).__name__}", model)
    operator.inputs = inputs
    operator.outputs.append(scope.declare_local_variable("label", Int64TensorType()))
    second = "probabilities" if is_calibrated(model) else "scores"
    operator.outputs.append(scope.declare_local_variable(second, FloatTensorType()))
    operator.is_output_of_model = True  # not of estimators within this, which skl2onnx declares itself
    return operator.outputs


def _has_two_columns(operator: Any) -> bool:
    """Return True if the scores of two classes are (-s, s), as converters of other estimators expect."""
    return not _is_output(operator) and len(operator.raw_operator.classes_) == 2


def _is_output(operator: Any) -> bool:
    return getattr(operator, "is_output_of_model", False)


def _set_types(operator: Any) -> None:
    """Set the types and shapes of the outputs."""
    from skl2onnx.common import data_types

    if is_calibrated(operator.raw_operator) and not _is_output(operator):
        raise TypeError(
            "A MarginClassifierCV with calibration within another estimator cannot be converted to "
            "ONNX, because that one may use its scores or its probabilities. Use its estimator_ there."
        )
    check_exportable(selected(operator.raw_operator), "to_onnx")
    source, n_classes = operator.inputs[0].type, len(operator.raw_operator.classes_)
    m = source.shape[0]
    labels = exported_labels(operator.raw_operator)
    kind = {"i": "Int64", "f": "Double", "U": "String"}[labels.dtype.kind]
    label_type = getattr(data_types, f"{kind}TensorType")
    is_double = isinstance(source, data_types.DoubleTensorType)
    score_type = data_types.DoubleTensorType if is_double else data_types.FloatTensorType
    operator.outputs[0].type = label_type([m])
    has_columns = _has_two_columns(operator) or is_calibrated(operator.raw_operator)
    is_vector = n_classes == 2 and not has_columns
    operator.outputs[1].type = score_type([m] if is_vector else [m, n_classes])


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Write the nodes of a classifier."""
    from skl2onnx.common.data_types import DoubleTensorType

    classifier = selected(operator.raw_operator)
    options = container.get_options(operator.raw_operator, {})
    graph = _Graph(scope, container, PRECISIONS[options.get("precision", "float64")])
    X = graph.cast(operator.inputs[0].full_name, graph.real)
    scheme = fitted_scheme(classifier)
    if hasattr(classifier, "coef_"):
        products = graph.add("MatMul", X, dense_coef(classifier).T)
    else:
        duals = problem_duals(classifier)
        products = graph.add("MatMul", _kernel_values(graph, classifier, X), duals.T)
    scores = graph.add("Add", products, classifier.intercept_)
    if len(classifier.classes_) == 2:
        scores = graph.add("Reshape", scores, np.array([-1]))
        index = graph.cast(graph.add("Greater", scores, 0.0), "int64")
    elif scheme.has_pairs:
        scores, index = _decided_by_pairs(graph, scheme, scores)
    else:
        index = graph.add("ArgMax", scores, axis=1, keepdims=0)
    if is_calibrated(operator.raw_operator):
        scores = _probabilities(graph, operator.raw_operator, scores)
        index = graph.add("ArgMax", scores, axis=1, keepdims=0)
    elif _has_two_columns(operator):
        column = graph.add("Reshape", scores, np.array([-1, 1]))
        scores = graph.add("Concat", graph.add("Neg", column), column, axis=1)
    graph.add("Gather", exported_labels(classifier), index, output=operator.outputs[0].full_name)
    is_double = isinstance(operator.outputs[1].type, DoubleTensorType)
    graph.cast(scores, "double" if is_double else "float", output=operator.outputs[1].full_name)


def _decided_by_pairs(graph: _Graph, scheme: Any, scores: str) -> tuple[str, str]:
    """Combine the scores of pairs as `OneVsOne.decision` and `predict` do: scores and index."""
    signs = scheme.signs(np.arange(scheme.n_classes)).T.astype(np.float64)
    wins = graph.cast(graph.add("Greater", scores, 0.0), graph.real)
    # A pair that its first class does not win is a vote for its second class.
    won = graph.add("MatMul", wins, signs)
    lost = (signs < 0).sum(axis=0).astype(np.float64)
    votes = graph.add("Add", won, lost)
    sums = graph.add("MatMul", scores, signs)
    scale = graph.add("Add", graph.add("Abs", sums), 1.0)
    share = graph.add("Div", sums, graph.add("Mul", scale, 3.0))
    index = graph.add("ArgMax", votes, axis=1, keepdims=0)
    return graph.add("Add", votes, share), index


def _probabilities(graph: _Graph, selection: Any, scores: str) -> str:
    """Add the probabilities that a selection computes from scores, of shape (m, n_classes)."""
    [fitted] = selection._calibrated.calibrated_classifiers_
    n_classes = len(selection.classes_)
    n_columns = 1 if n_classes == 2 else n_classes
    columns = graph.add("Reshape", scores, np.array([-1, n_columns]))
    columns = graph.add("Div", columns, float(fitted.estimator.unit))
    if selection._calibrated.method == "temperature":
        if n_classes == 2:
            columns = graph.add("Concat", graph.add("Neg", columns), columns, axis=1)
        beta = float(fitted.calibrators[0].beta_)
        return graph.add("Softmax", graph.add("Mul", columns, beta), axis=1)
    of_classes = []
    for column, calibrator in enumerate(fitted.calibrators):
        value = graph.add("Gather", columns, np.array([column]), axis=1)
        of_classes.append(_calibrated(graph, calibrator, value))
    if n_classes == 2:
        complement = graph.add("Sub", 1.0, of_classes[0])
        return graph.add("Concat", complement, of_classes[0], axis=1)
    together = graph.add("Concat", *of_classes, axis=1)
    total = graph.add("ReduceSum", together, np.array([1]), keepdims=1)
    is_zero = graph.add("Equal", total, 0.0)
    shares = graph.add("Div", together, graph.add("Where", is_zero, 1.0, total))
    return graph.add("Where", is_zero, 1 / n_classes, shares)


def _calibrated(graph: _Graph, calibrator: Any, value: str) -> str:
    """Add the probability of a class, by a sigmoid or by interpolation, from a column of its scores."""
    if hasattr(calibrator, "a_"):
        scaled = graph.add("Mul", value, -float(calibrator.a_))
        return graph.add("Sigmoid", graph.add("Add", scaled, -float(calibrator.b_)))
    x, y = calibrator.X_thresholds_, calibrator.y_thresholds_
    if len(x) == 1:
        x, y = np.array([x[0], x[0] + 1]), np.repeat(y, 2)
    value = graph.add("Max", value, float(x[0]))
    value = graph.add("Min", value, float(x[-1]))
    is_before = graph.cast(graph.add("GreaterOrEqual", value, x[1:-1]), "int64")
    index = graph.add("ReduceSum", is_before, np.array([1]), keepdims=1)
    start = graph.add("Gather", x, index)
    slope = graph.add("Gather", np.diff(y) / np.diff(x), index)
    rise = graph.add("Mul", slope, graph.add("Sub", value, start))
    return graph.add("Add", graph.add("Gather", y, index), rise)


def _kernel_values(graph: _Graph, classifier: Any, X: str) -> str:
    """Add K(x, support vector), of shape (m, n_support), to the graph."""
    kernel = classifier.kernel_
    if kernel.name == "precomputed":
        return graph.add("Gather", X, classifier.support_.astype(np.int64), axis=1)
    vectors = support_vectors(classifier)
    if graph.real == "float" and kernel.name == "rbf":  # distances are differences of large numbers
        centre = centre_of(vectors)
        vectors, X = vectors - centre, graph.add("Sub", X, centre)
    products = graph.add("MatMul", X, vectors.T)
    if kernel.name in ("poly", "sigmoid"):
        scaled = graph.add("Mul", products, float(kernel.gamma))
        shifted = graph.add("Add", scaled, float(kernel.coef0))
        if kernel.name == "sigmoid":
            return graph.add("Tanh", shifted)
        return graph.add("Pow", shifted, float(kernel.degree))
    squares = graph.add("Mul", X, X)
    norms = graph.add("ReduceSum", squares, np.array([1]), keepdims=1)
    norms = graph.add("Add", norms, (vectors**2).sum(axis=1))
    doubled = graph.add("Mul", products, 2.0)
    distances = graph.add("Max", graph.add("Sub", norms, doubled), 0.0)
    return graph.add("Exp", graph.add("Mul", distances, -float(kernel.gamma)))


def centre_of(vectors: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return what single precision subtracts from samples before it computes distances."""
    return vectors.mean(axis=0).astype(np.float32)


def problem_duals(classifier: Any) -> NDArray[np.float64]:
    """Return the coefficients of all support vectors in each problem, (n_problems, n_support)."""
    dual, scheme = classifier.dual_coef_, fitted_scheme(classifier)
    if scheme.has_pairs:
        codes = np.repeat(np.arange(scheme.n_classes), classifier.n_support_)
        dual = scheme.sums(np.eye(len(codes)), dual, codes).T
    return np.asarray(dual)


def support_vectors(classifier: Any) -> NDArray[np.float64]:
    """Return the support vectors as a dense array of double."""
    vectors = classifier.support_vectors_
    vectors = vectors.toarray() if sparse.issparse(vectors) else np.asarray(vectors)
    return vectors.astype(np.float64)


def exported_labels(classifier: Any) -> NDArray[Any]:
    """Return the labels in a type of ONNX and of C: int64, double or str."""
    classes: NDArray[Any] = classifier.classes_
    if classes.dtype.kind in "biu":
        if classes.dtype.kind == "u" and classes.max() > LARGEST_LABEL:
            raise ValueError(
                f"classes_ must be at most {LARGEST_LABEL} to be exported, as a signed integer. "
                f"Got {classes.max()}."
            )
        return classes.astype(np.int64)
    if classes.dtype.kind in "mM":
        raise ValueError(
            f"classes_ must be numbers or str to be exported, not dates. Got {classes.dtype}. Train "
            "with labels of type str, for example from numpy.datetime_as_string."
        )
    return classes.astype(np.float64) if classes.dtype.kind == "f" else classes.astype(str)


class _Graph:
    """Adds nodes and constants under new names; real numbers have the type `real`, double or float."""

    def __init__(self, scope: Any, container: Any, real: str) -> None:
        self._scope, self._container, self.real = scope, container, real

    def constant(self, value: Any) -> str:
        """Add a constant of type `real`, int64 or string, and return its name."""
        from onnx import TensorProto

        array = np.asarray(value)
        real = getattr(TensorProto, self.real.upper())
        kinds = {"f": real, "i": TensorProto.INT64, "U": TensorProto.STRING}
        name: str = self._scope.get_unique_variable_name("constant")
        values = array.ravel()
        content = [text.encode() for text in values.tolist()] if array.dtype.kind == "U" else values
        self._container.add_initializer(name, kinds[array.dtype.kind], list(array.shape), content)
        return name

    def add(self, kind: str, *inputs: Any, output: str | None = None, **attributes: Any) -> str:
        """Add a node, whose inputs are names or constants, and return the name of its output."""
        target: str = output or self._scope.get_unique_variable_name(kind.lower())
        name = self._scope.get_unique_operator_name(kind)
        names = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        self._container.add_node(kind, names, [target], name=name, op_version=13, **attributes)
        return target

    def cast(self, value: str, kind: str, output: str | None = None) -> str:
        """Add a conversion of a value to another type, and return its name."""
        from onnx import TensorProto

        return self.add("Cast", value, output=output, to=getattr(TensorProto, kind.upper()))
