"""Model files of LIBLINEAR and LIBSVM: text and what it says, with NumPy alone.

LIBLINEAR writes one column of weights for each class or, of two classes, for the first label alone,
whose scores are positive; the bias is the weight of one more feature of that value. LIBSVM writes the
coefficients of support vectors in pairs of classes; rho is minus the intercept.
"""

from typing import Any, NamedTuple

import numpy as np

from margins.readers.malformed import MalformedFile
from margins.readers.svmlight import CsrArrays, parsed

# The solvers of LIBLINEAR for support vector machines, and their losses.
SOLVERS = {
    "L2R_L2LOSS_SVC_DUAL": "squared_hinge",
    "L2R_L2LOSS_SVC": "squared_hinge",
    "L2R_L1LOSS_SVC_DUAL": "hinge",
}
LARGEST_LABEL = 2**31 - 1
# The kernels of LIBSVM, and their parameters in the order of its files.
KERNELS = {
    "linear": (),
    "polynomial": ("degree", "gamma", "coef0"),
    "rbf": ("gamma",),
    "sigmoid": ("gamma", "coef0"),
    "precomputed": (),
}


class LinearFile(NamedTuple):
    """A model file of LIBLINEAR."""

    solver: str  # one of `SOLVERS`
    labels: list[int]  # of two, the first is positive
    weights: np.ndarray  # float64, shape (n_features, n_columns)
    bias: float  # value of the feature of the intercept; negative: there is none
    bias_weights: np.ndarray  # float64, shape (n_columns,)

    @property
    def intercept(self):
        """The intercepts, an ndarray of shape (n_columns,)."""
        return max(self.bias, 0.0) * self.bias_weights


class KernelFile(NamedTuple):
    """A model file of LIBSVM; the support vectors are sorted by class."""

    kernel: str  # one of `KERNELS`
    parameters: dict[str, Any]
    labels: list[int]
    rho: np.ndarray  # float64, shape (n_pairs,)
    n_support: list[int]  # of each class
    coefficients: np.ndarray  # float64, shape (n_support, n_classes - 1)
    vectors: CsrArrays  # with a precomputed kernel: the number of the sample as the only value, from 1
    has_probabilities: bool = False


def integer_label(label):
    """Return a label as an integer of 32 bits, which both programs read, or raise a ValueError."""
    is_number = isinstance(label, int | float) and not isinstance(label, bool)
    if not is_number or not abs(label) <= LARGEST_LABEL or int(label) != label:
        raise ValueError(f"Labels of LIBLINEAR and LIBSVM must be integers of 32 bits. Got {label!r}.")
    return int(label)


def linear_file(classifier, coef):
    """Return the LinearFile of a fitted linear classifier, except of pairs of classes.

    coef: its `coef_` as an ndarray.
    """
    solver = "L2R_L1LOSS_SVC_DUAL" if classifier.loss == "hinge" else "L2R_L2LOSS_SVC_DUAL"
    labels = [integer_label(label) for label in classifier.classes_.tolist()]
    labels = labels[::-1] if len(labels) == 2 else labels
    bias = -1.0
    if classifier.fit_intercept:
        is_free = not getattr(classifier, "penalize_intercept", True)
        bias = 1.0 if is_free else float(classifier.intercept_scaling or 1.0)
    return LinearFile(solver, labels, coef.T, bias, classifier.intercept_ / abs(bias))


def by_sorted_label(model):
    """Return the classes of a LinearFile, sorted, and `coef` and `intercept` in their order."""
    places = np.argsort(model.labels)
    classes, coef, intercept = np.array(model.labels)[places], model.weights.T, model.intercept
    if len(classes) == 2:
        sign = 1.0 if model.labels[0] == classes[1] else -1.0
        return classes, sign * coef, sign * intercept
    return classes, np.ascontiguousarray(coef[places]), intercept[places]


def is_model(contents):
    """Return whether contents begin like a model file of either program."""
    return contents.startswith((b"solver_type ", b"svm_type "))


def parsed_model(text, path):
    """Return the LinearFile or KernelFile in a text (bytes); raise a MalformedFile if it is none."""
    return _Reader(text, path).model()


class _Reader:
    """The lines of a model file: ``name value ...``, then a table."""

    def __init__(self, text, path):
        self._text, self._path = text, path
        self._values, self._lines, self._end, self._n_lines = {}, {}, 0, 0

    def model(self):
        """Return the LinearFile or KernelFile."""
        if not is_model(self._text):
            raise self._malformed(1, "a model must begin with solver_type or svm_type")
        last = b"w" if self._text.startswith(b"solver_type ") else b"SV"
        while True:
            end = self._text.find(b"\n", self._end)
            line = self._text[self._end : len(self._text) if end < 0 else end].strip()
            self._end, self._n_lines = (len(self._text) if end < 0 else end + 1), self._n_lines + 1
            name, _, value = line.partition(b" ")
            if name == last:
                break
            if end < 0 or not name:
                raise self._malformed(
                    self._n_lines, f"a line {last.decode()!r} must come before the table"
                )
            key = name.decode(errors="replace")
            if key in self._values:
                raise self._malformed(self._n_lines, f"{key} may be given only once")
            self._values[key], self._lines[key] = value.decode(errors="replace").split(), self._n_lines
        return self._linear() if last == b"w" else self._kernel()

    def _malformed(self, line, problem):
        return MalformedFile(self._path, line, 1, f"{problem}.")

    def _words(self, name, length=1):
        """Return the words of a line of the head."""
        if name not in self._values:
            raise self._malformed(self._n_lines, f"{name} must be given before the table")
        words = self._values[name]
        if len(words) != length:
            problem = f"{name} must have {length} values. Got {len(words)}"
            raise self._malformed(self._lines[name], problem)
        return words

    def _numbers(self, name, length=1, kind=float, smallest=-np.inf):
        """Return the numbers of a line of the head."""
        words = self._words(name, length)
        for word in words:
            try:
                value = kind(word)
            except ValueError:
                value = np.nan
            if not smallest <= value < np.inf or (value == -np.inf):
                what = "an integer" if kind is int else "a finite number"
                limit = f" of at least {smallest}" if smallest > -np.inf else ""
                problem = f"{name} must be {what}{limit}. Got {word[:40]!r}"
                raise self._malformed(self._lines[name], problem)
        return [kind(word) for word in words]

    def _one_of(self, name, allowed):
        (word,) = self._words(name)
        if word not in allowed:
            problem = f"{name} must be one of {', '.join(allowed)}. Got {word[:40]!r}"
            raise self._malformed(self._lines[name], problem)
        return word

    def _labels(self):
        """Return the labels, which are distinct."""
        (n_classes,) = self._numbers("nr_class", kind=int, smallest=2)
        labels = self._numbers("label", n_classes, int)
        if max(map(abs, labels)) > LARGEST_LABEL:
            raise self._malformed(self._lines["label"], "labels must be integers of 32 bits")
        if len(set(labels)) < n_classes:
            raise self._malformed(self._lines["label"], "labels must be distinct")
        return labels

    def _linear(self):
        solver, labels = self._one_of("solver_type", SOLVERS), self._labels()
        (n_features,) = self._numbers("nr_feature", kind=int, smallest=1)
        (bias,) = self._numbers("bias")
        shape = n_features + (bias >= 0), 1 if len(labels) == 2 else len(labels)
        words = self._text[self._end :].split()
        if len(words) != shape[0] * shape[1]:
            problem = (
                f"the table must have {shape[0]} rows of {shape[1]} numbers. Got {len(words)} numbers"
            )
            raise self._malformed(self._n_lines, problem)
        try:
            table = np.array(list(map(float, words))).reshape(shape)
            is_finite = np.isfinite(table).all()
        except ValueError:
            is_finite = False
        if not is_finite:
            raise self._wrong_number()
        return LinearFile(solver, labels, table[:n_features], bias, table[n_features:].sum(axis=0))

    def _wrong_number(self):
        """Return the error of the first word of the table that is no finite number."""
        for number, line in enumerate(self._text[self._end :].split(b"\n"), self._n_lines + 1):
            for word in line.split():
                try:
                    is_finite = np.isfinite(float(word))
                except ValueError:
                    is_finite = False
                if not is_finite:
                    got = word[:40].decode(errors="replace")
                    column = line.index(word) + 1
                    problem = f"a weight must be a finite number. Got {got!r}."
                    return MalformedFile(self._path, number, column, problem)
        return None

    def _kernel(self):
        self._one_of("svm_type", ("c_svc",))
        kernel, labels = self._one_of("kernel_type", KERNELS), self._labels()
        n_classes = len(labels)
        parameters = {name: self._numbers(name)[0] for name in KERNELS[kernel]}
        if not parameters.get("gamma", 1.0) > 0:
            raise self._malformed(self._lines["gamma"], "gamma must be positive")
        if "degree" in parameters:
            parameters["degree"] = self._numbers("degree", kind=int, smallest=1)[0]
        rho = np.array(self._numbers("rho", n_classes * (n_classes - 1) // 2))
        (n_vectors,) = self._numbers("total_sv", kind=int, smallest=0)
        n_support = self._numbers("nr_sv", n_classes, int, 0)
        if sum(n_support) != n_vectors:
            raise self._malformed(self._lines["nr_sv"], f"nr_sv must add up to total_sv, {n_vectors}")
        coefficients, vectors = self._table(n_vectors, n_classes - 1, kernel == "precomputed")
        has_probabilities = "probA" in self._values
        return KernelFile(
            kernel, parameters, labels, rho, n_support, coefficients, vectors, has_probabilities
        )

    def _table(self, n_rows, n_columns, is_precomputed):
        """Return the coefficients and the support vectors."""
        lines = self._text[self._end :].rstrip().split(b"\n") if n_rows else []
        if len(lines) != n_rows:
            raise self._malformed(self._n_lines, f"the table must have {n_rows} lines. Got {len(lines)}")
        coefficients, rests = np.empty((n_rows, n_columns)), []
        for row, line in enumerate(lines):
            *words, rest = [*line.split(maxsplit=n_columns), b""][: n_columns + 1]
            try:
                coefficients[row] = list(map(float, words))
                is_finite = np.isfinite(coefficients[row]).all()
            except ValueError:
                is_finite = False
            if not is_finite:
                problem = f"a support vector must begin with {n_columns} finite numbers"
                raise self._malformed(self._n_lines + 1 + row, problem)
            rests.append(b"0 " + rest)
        try:
            vectors = parsed(b"\n".join(rests), self._path, is_precomputed, may_be_empty=True)
        except MalformedFile as error:
            shift = len(lines[error.line - 1]) - len(rests[error.line - 1])
            line, column = error.line + self._n_lines, error.column + shift
            raise MalformedFile(self._path, line, column, error.problem) from None
        serials = vectors.values
        if is_precomputed and not (
            len(serials) == n_rows and (serials >= 1).all() and (serials == np.floor(serials)).all()
        ):
            raise self._malformed(
                self._n_lines + 1, "a support vector must be 0:i, i the sample's number"
            )
        return coefficients, vectors


def text_of(model):
    """Return the text of a LinearFile or KernelFile (bytes)."""
    is_linear = isinstance(model, LinearFile)
    return "\n".join(_lines_of_linear(model) if is_linear else _lines_of_kernel(model)).encode()


def _lines_of_linear(model):
    table = model.weights
    if model.bias >= 0:
        table = np.vstack([table, model.bias_weights])
    yield f"solver_type {model.solver}"
    yield f"nr_class {len(model.labels)}"
    yield f"label {' '.join(map(str, model.labels))}"
    yield f"nr_feature {len(model.weights)}"
    yield f"bias {model.bias:.17g}"
    yield "w"
    for row in table.tolist():
        yield " ".join(map(repr, row)) + " "
    yield ""


def _lines_of_kernel(model):
    yield "svm_type c_svc"
    yield f"kernel_type {model.kernel}"
    for name in KERNELS[model.kernel]:
        yield f"{name} {model.parameters[name]:.17g}"
    yield f"nr_class {len(model.labels)}"
    yield f"total_sv {len(model.coefficients)}"
    yield f"rho {' '.join(map(repr, model.rho.tolist()))}"
    yield f"label {' '.join(map(str, model.labels))}"
    yield f"nr_sv {' '.join(map(str, model.n_support))}"
    yield "SV"
    first, vectors = int(model.kernel != "precomputed"), model.vectors
    starts, columns, values = vectors.starts, vectors.columns.tolist(), vectors.values.tolist()
    for row, coefficients in enumerate(model.coefficients.tolist()):
        stored = range(starts[row], starts[row + 1])
        elements = [f"{columns[k] + first}:{values[k]!r}" for k in stored]
        yield " ".join([*map(repr, coefficients), *elements]) + " "
    yield ""
