"""Values of tables: equal values are read as equal, in any spelling of CSV and Parquet."""

import contextlib
import functools
import numbers
import re
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

# Fields of CSV that stand for a missing value, except in categories.
MISSING = frozenset(
    ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "n/a", "#N/A", "<NA>", "-nan", "-NaN")
)
NO_VALUES = frozenset(("None", "nan", "NaN", "NaT", "<NA>"))  # missing values of Python, as text
BLANKS = " \t"  # stripped from both ends of a value
BOOLEANS = {"true": True, "false": False}
NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
WITH_COMMA = re.compile(r"[+-]?[0-9.]*,[0-9.,]*")
# Numbers that name a category or a class. "01" and "+1" are codes, which differ from "1".
WHOLE = re.compile("0|-?[1-9][0-9]*")
NAMING_NUMBER = re.compile(
    r"(?!-0\Z)-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?"
)


class WrongValue(Exception):
    """Error of a value in a row of a column, counted from 0, that is not `allowed`."""

    def __init__(self, column, row, value, allowed, hint=""):
        value = value.item() if isinstance(value, np.generic) else value
        got = "an empty field" if isinstance(value, str) and not value else repr(value)
        super().__init__(f"{allowed}. Got {got}.{hint}")
        self.column, self.row = column, row


def number_of(value):
    """Return a value as a float; nan if it is not a number, inf if it is too large."""
    if isinstance(value, str):
        value = value.strip(BLANKS)
        if value.lower() in BOOLEANS:
            return float(BOOLEANS[value.lower()])
        return float(value) if NUMBER.fullmatch(value) else np.nan
    if not isinstance(value, numbers.Real | Decimal | np.bool_):
        return np.nan
    try:
        return float(value)
    except OverflowError:  # a large integer
        return np.inf
    except ValueError:  # a signalling Decimal
        return np.nan


def text_of(value):
    """Return the text that names a category or a class, the same for all equal values.

    Numbers are compared as numbers, except that digits after a leading zero or plus are codes. True and
    false are compared as booleans, other values as text without surrounding blanks. A missing value is
    "".

    Examples
    --------
    >>> [text_of(value) for value in (1, "1.0", 1e0, True, "TRUE", " a b", "01", None)]
    ['1', '1', '1', 'True', 'True', 'a b', '01', '']
    """
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    elif not isinstance(value, str):
        value = "" if str(value) in NO_VALUES else str(value)
    text = value.strip(BLANKS).removesuffix(" 00:00:00")  # which pandas adds to some dates
    if text.lower() in BOOLEANS:
        return str(BOOLEANS[text.lower()])
    is_number = NAMING_NUMBER.fullmatch(text) and not WHOLE.fullmatch(text)  # whole numbers may be long
    if not is_number or not np.isfinite(number_of(text)):
        return text
    number, exact = float(text), Decimal(text)
    if not number.is_integer():
        return repr(number)
    return str(int(exact if exact == exact.to_integral_value() else number))


def kind_of_type(arrow_type):
    """Return the kind of the values of a pyarrow type: "numbers", "boolean" or "text"."""
    from pyarrow import types

    if types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    if types.is_boolean(arrow_type):
        return "boolean"
    tests = (types.is_integer, types.is_floating, types.is_decimal)
    return "numbers" if any(test(arrow_type) for test in tests) else "text"


def storage_of(arrow_type):
    """Return the pyarrow type that stores values; it differs from the type of tensors."""
    return getattr(arrow_type, "storage_type", arrow_type)


def are_vectors(arrow_type):
    """Return whether the values of a pyarrow type are lists, of any or of a fixed length, or tensors."""
    from pyarrow import types

    tests = (types.is_list, types.is_large_list, types.is_fixed_size_list)
    return any(test(storage_of(arrow_type)) for test in tests)


def names_of_elements(name, width):
    """Return the names of the features of a column of vectors (list of str)."""
    return [f"{name}[{index}]" for index in range(width)]


class Column:
    """A column of a table, a ChunkedArray of pyarrow."""

    def __init__(self, name, array):
        from pyarrow import types

        is_coded = types.is_dictionary(array.type)
        self.name, self.array = name, array.cast(array.type.value_type) if is_coded else array
        self.kind = kind_of_type(array.type)

    def numbers(self, hint=""):
        """Return finite float64 (shape (m,)), or raise a WrongValue; `hint`: if it is other text."""
        values = self._cast()
        if values is None:  # booleans in text, or values that are not numbers
            values = self.distinct().mapped(number_of, np.float64)
        if not np.isfinite(values).all():
            row = int(np.argmin(np.isfinite(values)))
            value = self.array[row].as_py()
            text = "" if value is None else str(value).strip(BLANKS)
            hint = hint if isinstance(value, str) else ""
            if text in MISSING:
                hint = " Fill in missing numbers, or leave out their rows."
            elif WITH_COMMA.fullmatch(text):
                hint = " Write numbers with a decimal point and without commas."
            raise WrongValue(self.name, row, value, f"{self.name!r} must be a finite number", hint)
        return values

    def vectors(self, width=None):
        """Return finite vectors, or raise a WrongValue; `width`: their length, None: of the first.

        The result is an ndarray of float32, if values have half or single precision, otherwise float64.
        """
        from pyarrow import compute

        if not are_vectors(self.array.type):
            raise WrongValue(self.name, 0, self.array[0].as_py(), f"{self.name!r} must hold vectors")
        type_ = storage_of(self.array.type).value_type
        if kind_of_type(type_) == "text":
            allowed = f"the vectors {self.name!r} must hold numbers"
            raise WrongValue(self.name, 0, self.array[0].as_py(), allowed)
        chunks = [getattr(chunk, "storage", chunk) for chunk in self.array.chunks]
        lengths = [compute.list_value_length(chunk).fill_null(-1).to_numpy() for chunk in chunks]
        lengths = np.concatenate([*lengths, np.empty(0, np.int32)])
        if width is None:
            width = int(lengths[lengths >= 0][:1].sum())
        if (lengths != width).any():
            row = int(np.argmax(lengths != width))
            got = None if lengths[row] < 0 else lengths[row]
            raise WrongValue(self.name, row, got, f"{self.name!r} must be a vector of {width} numbers")
        dtype = np.float32 if type_ in ("float", "halffloat") else np.float64
        values = [chunk.flatten().to_numpy(zero_copy_only=False) for chunk in chunks]
        values = [each.astype(dtype, copy=False) for each in values]  # None becomes nan
        matrix = values[0] if len(values) == 1 else np.concatenate([*values, np.empty(0, dtype)])
        matrix = matrix.reshape(len(lengths), width)
        if not np.isfinite(matrix).all():
            row, index = np.argwhere(~np.isfinite(matrix))[0].tolist()
            name, value = f"{self.name}[{index}]", self.array[row].as_py()[index]
            raise WrongValue(name, row, value, f"{name!r} must be a finite number")
        return matrix

    def _cast(self):
        """Return float64 with nan for missing values, or None if not all values can be cast."""
        import pyarrow
        from pyarrow import compute, types

        is_text = types.is_string(self.array.type)
        changes = (lambda array: array, functools.partial(compute.ascii_trim, characters=BLANKS))
        for change in changes if is_text else changes[: self.kind != "text"]:
            with contextlib.suppress(pyarrow.ArrowInvalid):
                return change(self.array).cast(pyarrow.float64(), safe=False).to_numpy()
        return None

    def distinct(self):
        """Return the Distinct values, or raise a WrongValue for lists and other nested values."""
        try:
            chunks = self.array.dictionary_encode("encode").chunks
        except NotImplementedError:
            allowed = f"{self.name!r} must be a single value in each row"
            raise WrongValue(self.name, 0, self.array[0].as_py(), allowed) from None
        if not chunks:
            return Distinct(self.name, self.kind, [], np.empty(0, np.intp), np.empty(0, np.int32))
        values = chunks[-1].dictionary
        # Values of an array stay float32, with as many digits as in CSV.
        is_float = values.type in ("float", "halffloat")
        values = list(values.to_numpy(zero_copy_only=False)) if is_float else values.to_pylist()
        codes = np.concatenate([chunk.indices.to_numpy() for chunk in chunks])
        first = np.empty(len(values), np.intp)
        first[codes[::-1]] = np.arange(len(codes))[::-1]
        return Distinct(self.name, self.kind, values, first, codes)


class Distinct(NamedTuple):
    """Distinct values of a column, which usually has many more rows."""

    name: str
    kind: str  # by `kind_of_type`
    values: list[Any]
    first: np.ndarray  # the first row of each value
    codes: np.ndarray  # the value of each row

    def mapped(self, function, dtype=object):
        """Return the results of a function of the values, for every row (ndarray, shape (m,))."""
        return np.array([function(value) for value in self.values], dtype=dtype)[self.codes]

    def reduced(self):
        """Return the Distinct of one row for each value."""
        return self._replace(codes=np.arange(len(self.values)))

    def check(self, allowed, is_wrong):
        """Raise a WrongValue for the first row for whose value `is_wrong` returns True."""
        for row, value in zip(self.first.tolist(), self.values, strict=True):
            if is_wrong(value):  # rows ascend
                raise WrongValue(self.name, row, value, allowed)
