"""Values of tables: equal values are read as equal, in any spelling of CSV and Parquet."""

import numbers
import re
from decimal import Decimal

import numpy as np

from margins.linalg.threads import computed_once

# Fields of CSV that stand for a missing value, except in categories.
MISSING = frozenset(
    ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "n/a", "#N/A", "<NA>", "-nan", "-NaN")
)
BLANKS = " \t"  # stripped from both ends of a value
BOOLEANS = {"true": True, "false": False}
NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
# Numbers that name a category or a class. "01" and "+1" are codes, which differ from "1".
WHOLE = re.compile("0|-?[1-9][0-9]*")
NAMING_NUMBER = re.compile(
    r"(?!-0\Z)-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?"
)


class WrongValue(Exception):
    """Error of a table value that is not allowed.

    Parameters
    ----------
    column : str
    row : int
        Row of the value, counted from 0.
    value : object
    allowed : str
        What the column must hold.
    is_wrong : callable
        ``is_wrong(field)`` is also True for the CSV text of the value.
    hint : str, optional
    """

    def __init__(self, column, row, value, allowed, is_wrong, hint=""):
        value = value.item() if isinstance(value, np.generic) else value
        super().__init__(f"{allowed}. Got {value!r}.{hint}")
        self.column, self.row, self.allowed, self.is_wrong = column, row, allowed, is_wrong
        self.hint = hint


def number_of(value):
    """Return a value as a float; nan if it is not a number, inf if it is too large.

    Examples
    --------
    >>> number_of(" 1e3"), number_of("true"), number_of("1_000")
    (1000.0, 1.0, nan)
    """
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


def is_no_number(value):
    """Return whether a value is not a finite number."""
    return not np.isfinite(number_of(value))


def numbers_of(column, hint=""):
    """Return a column as finite float64 (ndarray, shape (m,)), or raise a WrongValue.

    Parameters
    ----------
    column : pandas.Series
    hint : str, optional
        Advice in the error if the value is text.
    """
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    if is_numeric_dtype(column) or is_bool_dtype(column):
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    else:  # numbers of mixed types, Decimals, or values that are not numbers
        values = np.array([number_of(value) for value in column.tolist()], dtype=np.float64)
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        row = int(wrong[0])
        allowed = f"{column.name!r} must be a finite number"
        value = column.iloc[row]
        is_text = isinstance(value, str)
        raise WrongValue(column.name, row, value, allowed, is_no_number, hint if is_text else "")
    return values


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
    import pandas

    if not isinstance(value, str):
        if pandas.isna(value):
            return ""
        value = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    text = value.strip(BLANKS).removesuffix(" 00:00:00")  # which pandas adds to some dates
    if text.lower() in BOOLEANS:
        return str(BOOLEANS[text.lower()])
    is_number = NAMING_NUMBER.fullmatch(text) and not WHOLE.fullmatch(text)  # whole numbers may be long
    if not is_number or is_no_number(text):
        return text
    number, exact = float(text), Decimal(text)
    if not number.is_integer():
        return repr(number)
    return str(int(exact if exact == exact.to_integral_value() else number))


class Distinct:
    """Distinct values of a column, which usually has many more rows.

    Parameters
    ----------
    column : pandas.Series
    """

    def __init__(self, column):
        self.column, self.name, self.kind = column, column.name, column.dtype.kind

    @computed_once
    def _coded(self):
        import pandas

        try:
            codes, values = pandas.factorize(self.column, use_na_sentinel=False)
        except TypeError:
            rows = self.column.tolist()
            row = next(row for row, value in enumerate(rows) if _is_nested(value))
            allowed = f"{self.name!r} must be a single value in each row"
            raise WrongValue(self.name, row, rows[row], allowed, lambda text: False) from None
        # Values of an array stay float32, with as many digits as in CSV.
        return codes, list(np.asarray(values) if self.kind == "f" else values)

    @property
    def values(self):
        """The distinct values (list); a WrongValue is raised for lists and other nested values."""
        return self._coded[1]

    def mapped(self, function, dtype=object):
        """Return the results of a function of the values, for every row (ndarray, shape (m,))."""
        return np.array([function(value) for value in self.values], dtype=dtype)[self._coded[0]]

    def check(self, allowed, is_wrong):
        """Raise a WrongValue for the first row for whose value `is_wrong` returns True."""
        wrong = [code for code, value in enumerate(self.values) if is_wrong(value)]
        if wrong:  # codes ascend from the first row
            row = int(np.argmax(self._coded[0] == wrong[0]))
            raise WrongValue(self.name, row, self.column.iloc[row], allowed, is_wrong)


def texts_of(column):
    """Return the texts of categories, by `text_of` (ndarray of str objects, shape (m,)).

    Raise a WrongValue for nested values.
    """
    return Distinct(column).mapped(text_of)


def _is_nested(value):
    try:
        hash(value)
    except TypeError:
        return True
    return False
