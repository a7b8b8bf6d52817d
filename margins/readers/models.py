"""Model files of LIBLINEAR and LIBSVM: text and what it says.

LIBLINEAR writes one column of weights for each class or, of two classes, for the first label alone,
whose scores are positive; the bias is the weight of one more feature of that value. LIBSVM writes the
coefficients of support vectors in pairs of classes; rho is minus the intercept. Files of LIBLINEAR are
read without NumPy, whose import takes longer than to predict.
"""

import math
import re
from array import array
from typing import Any, NamedTuple

from margins.readers._svmlight import read_numbers
from margins.readers.malformed import MalformedFile
from margins.readers.svmlight import CsrArrays, parsed

# The solvers of LIBLINEAR for support vector machines, and their losses.
SOLVERS = {
    "L2R_L2LOSS_SVC_DUAL": "squared_hinge",
    "L2R_L2LOSS_SVC": "squared_hinge",
    "L2R_L1LOSS_SVC_DUAL": "hinge",
    "L1R_L2LOSS_SVC": "squared_hinge",
}
LARGEST_INTEGER = 2**31 - 1
WORD = re.compile(rb"[^ \t\r\n]+")
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
    n_features: int
    bias: float  # value of the feature of the intercept; negative: there is none
    weights: array  # float64, row by row: `n_columns` weights of each feature, then those of the bias

    @property
    def n_columns(self):
        """The number of weight vectors."""
        return 1 if len(self.labels) == 2 else len(self.labels)


class KernelFile(NamedTuple):
    """A model file of LIBSVM; the support vectors are sorted by class."""

    kernel: str  # one of `KERNELS`
    parameters: dict[str, Any]
    labels: list[int]
    rho: Any  # ndarray of float64, shape (n_pairs,)
    n_support: list[int]  # of each class
    coefficients: Any  # ndarray of float64, shape (n_support, n_classes - 1)
    vectors: CsrArrays  # with a precomputed kernel: the number of the sample as the only value, from 1
    has_probabilities: bool = False


def integer_label(label):
    """Return a label as an integer of 32 bits, which both programs read, or raise a ValueError."""
    is_number = isinstance(label, int | float) and not isinstance(label, bool)
    if not is_number or not abs(label) <= LARGEST_INTEGER or int(label) != label:
        raise ValueError(f"Labels of LIBLINEAR and LIBSVM must be integers of 32 bits. Got {label!r}.")
    return int(label)


def linear_file(classifier, coef):
    """Return the LinearFile of a classifier without pairs of classes, with `coef` as an ndarray."""
    import numpy as np

    solver = "L2R_L1LOSS_SVC_DUAL" if classifier.loss == "hinge" else "L2R_L2LOSS_SVC_DUAL"
    if classifier.loss == "squared_hinge" and getattr(classifier, "penalty", "l2") == "l1":
        solver = "L1R_L2LOSS_SVC"
    labels = [integer_label(label) for label in classifier.classes_.tolist()]
    labels = labels[::-1] if len(labels) == 2 else labels
    bias, table = -1.0, coef.T
    if classifier.fit_intercept:
        is_free = not getattr(classifier, "penalize_intercept", True)
        bias = 1.0 if is_free else float(classifier.intercept_scaling or 1.0)
        table = np.vstack([table, classifier.intercept_ / bias])
    return LinearFile(solver, labels, coef.shape[1], bias, array("d", table.tobytes()))


def by_sorted_label(model):
    """Return the classes of a LinearFile, sorted, and `coef` and `intercept` in their order."""
    import numpy as np

    places, table = np.argsort(model.labels), np.reshape(model.weights, (-1, model.n_columns))
    classes, coef = np.array(model.labels)[places], table[: model.n_features].T
    intercept = max(model.bias, 0.0) * table[model.n_features :].sum(axis=0)
    if len(classes) == 2:
        sign = 1.0 if model.labels[0] == classes[1] else -1.0
        return classes, sign * coef, sign * intercept
    return classes, np.ascontiguousarray(coef[places]), intercept[places]


def is_model(contents):
    """Return whether contents begin like a model file of either program."""
    return contents.startswith((b"solver_type ", b"svm_type "))


class ModelText:
    """The text of a model file (bytes): lines ``name value ...``, then a table."""

    def __init__(self, text, path):
        self._text, self._path = text, path
        self._values, self._lines, self._end, self._n_lines = {}, {}, 0, 0

    def model(self):
        """Return the LinearFile or KernelFile in this text, or raise a MalformedFile."""
        if not is_model(self._text):
            raise self._malformed(1, "a model must begin with solver_type or svm_type")
        last = b"w" if self._text.startswith(b"solver_type ") else b"SV"
        while True:
            end = self._text.find(b"\n", self._end)
            line = self._text[self._end : len(self._text) if end < 0 else end].strip()
            self._end, self._n_lines = (len(self._text) if end < 0 else end + 1), self._n_lines + 1
            name, _, value = line.partition(b" ")
            if name == last:
                if value:
                    raise self._malformed(self._n_lines, f"a line {last.decode()!r} must end there")
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

    def _numbers(self, name, length=1, kind=float, smallest=-math.inf):
        """Return the numbers of a line of the head."""
        words = self._words(name, length)
        for word in words:
            try:
                value = kind(word) if "_" not in word else math.nan
            except ValueError:
                value = math.nan
            is_long = kind is int and abs(value) > LARGEST_INTEGER
            if is_long or not (math.isfinite(value) and value >= smallest):
                what = "an integer of 32 bits" if kind is int else "a finite number"
                limit = f" of at least {smallest}" if smallest > -math.inf else ""
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
        if len(set(labels)) < n_classes:
            raise self._malformed(self._lines["label"], "labels must be distinct")
        return labels

    def _linear(self):
        solver, labels = self._one_of("solver_type", SOLVERS), self._labels()
        (n_features,) = self._numbers("nr_feature", kind=int, smallest=1)
        (bias,) = self._numbers("bias")
        model = LinearFile(solver, labels, n_features, bias, array("d"))
        n_rows, n_columns = n_features + (bias >= 0), model.n_columns
        n_weights = n_rows * n_columns
        if n_weights < len(self._text):
            weights = array("d", [0.0]) * n_weights
            if read_numbers(self._text, self._end, weights):
                return model._replace(weights=weights)
        n_words = len(WORD.findall(self._text, self._end))
        if n_words == n_weights:
            raise self._wrong_number()
        problem = f"the table must have {n_rows} rows of {n_columns} numbers. Got {n_words} numbers"
        raise self._malformed(self._n_lines, problem)

    def _wrong_number(self):
        """Return the error of the first word of the table that is no finite number."""
        for number, line in enumerate(self._text[self._end :].split(b"\n"), self._n_lines + 1):
            for word in WORD.finditer(line):
                if not read_numbers(word[0], 0, array("d", [0.0])):
                    got = word[0][:40].decode(errors="replace")
                    problem = f"a weight must be a finite number. Got {got!r}."
                    return MalformedFile(self._path, number, word.start() + 1, problem)

    def _kernel(self):
        import numpy as np

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
        import numpy as np

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
            rows = parsed(b"\n".join(rests), self._path, is_precomputed, may_be_empty=True)
        except MalformedFile as error:
            shift = len(lines[error.line - 1]) - len(rests[error.line - 1])
            line, column = error.line + self._n_lines, error.column + shift
            raise MalformedFile(self._path, line, column, error.problem) from None
        vectors = rows.of_numpy()
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
    rows = zip(*[iter(model.weights)] * model.n_columns, strict=True)
    yield f"solver_type {model.solver}"
    yield f"nr_class {len(model.labels)}"
    yield f"label {' '.join(map(str, model.labels))}"
    yield f"nr_feature {model.n_features}"
    yield f"bias {model.bias:.17g}"
    yield "w"
    for row in rows:
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
