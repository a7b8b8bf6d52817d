"""Labels of a table: whole numbers, booleans, or text."""

import math

import numpy as np

from margins.data.table_values import BLANKS, BOOLEANS, WHOLE, WrongValue, number_of, text_of, texts_of

INT64 = np.iinfo(np.int64)
NO_FRACTION = "must be a whole number or text, which names a class; it may not have a fraction"
EXACT = "must be a whole number below 2**53 in size, or text, which names a class"
# Characters that would end a line of predictions, or that no text has.
CONTROLS = frozenset(map(chr, [*range(32), *range(127, 160), 0x2028, 0x2029]))


def check_present(column, missing=frozenset(("",))):
    """Raise WrongValue if a label is missing, which texts of CSV, `missing`, may say."""
    if column.dtype.kind not in "biuf" or column.isna().any():
        _check(column, "must not be missing", lambda label: text_of(label) in missing)


def kind_of(column):
    """What labels are, a pandas.Series without missing values: "whole", "boolean" or "text".

    Text that is all whole numbers is "whole", and all true or false "boolean". WrongValue if all labels
    are numbers, but some have a fraction.
    """
    if column.dtype.kind in "biuf":
        return "boolean" if column.dtype.kind == "b" else "whole"
    distinct = set(texts_of(column).tolist())
    if all(map(_is_int64, distinct)):
        return "whole"
    if all(text.lower() in BOOLEANS for text in distinct):
        return "boolean"
    numbers = [number_of(text) for text in distinct]
    if all(map(math.isfinite, numbers)) and not all(map(float.is_integer, numbers)):
        _check(column, NO_FRACTION, lambda label: not number_of(label).is_integer())
    return "text"


def labels_to_train(column):
    """Labels as a model will give them back: ndarray of integers, bool or str, shape (m,).

    Parameters
    ----------
    column : pandas.Series
        Without missing values. Text that is all whole numbers becomes int64; other text stays as it is
        written, except that equal labels that are written differently, as 1 and 1.0, become one.

    Raises
    ------
    WrongValue
        If labels are numbers with a fraction, or text that is not printed in a line.
    """
    kind = kind_of(column)
    if column.dtype.kind in "biuf":
        return labels_of(column, kind)
    _check_text(column)
    spellings = {}
    for value in column.unique():
        spelling = value.strip(BLANKS) if isinstance(value, str) else text_of(value)
        spellings.setdefault(text_of(value), set()).add(spelling)
    named = {text: min(ways) if len(ways) == 1 else text for text, ways in spellings.items()}
    labels = np.array([named[text] for text in texts_of(column).tolist()], dtype=object)
    return labels.astype(np.int64 if all(map(_is_int64, named.values())) else str)


def labels_of(column, kind, reason=""):
    """Labels of a kind: ndarray of integers, bool or str, shape (m,).

    Parameters
    ----------
    column : pandas.Series
        Without missing values.
    kind : str
        As `kind_of` returns it.
    reason : str, optional
        What errors add to the kind, such as ", as the model's".

    Raises
    ------
    WrongValue
        If a label is not of the kind.
    """
    if kind == "boolean":
        return _boolean(column, reason)
    if kind == "text":
        _check_text(column)
        labels = (label.strip(BLANKS) if isinstance(label, str) else text_of(label) for label in column)
        return np.array(list(labels), dtype=str)
    if column.dtype.kind in "iu":
        return column.to_numpy()
    if column.dtype.kind == "f":
        _check(column, EXACT, lambda label: not _is_exact(number_of(label)))
        return column.to_numpy().astype(np.int64)
    _check(
        column, f"must be a whole number of 64 bits{reason}", lambda label: not _is_int64(text_of(label))
    )
    return np.array([int(text) for text in texts_of(column).tolist()], dtype=np.int64)


def labels_like(column, classes):
    """Labels that are compared with those of a model: ndarray, shape (m,), of the kind of its classes.

    Parameters
    ----------
    column : pandas.Series
        Without missing values.
    classes : ndarray
        Those of the model. A label that is equal to one of them, however it is written, becomes it.

    Raises
    ------
    WrongValue
        If the classes are numbers or booleans, and a label is not.
    """
    reason = ", as the model's"
    if classes.dtype.kind == "b":
        return _boolean(column, reason)
    if classes.dtype.kind not in "iuf":
        known = {text_of(label): label for label in classes.tolist()}
        return np.array([known.get(text, text) for text in texts_of(column).tolist()]).astype(str)
    if column.dtype.kind in "iuf":
        return column.to_numpy()
    _check(column, f"must be a number{reason}", lambda label: not _is_number(text_of(label)))
    texts = texts_of(column).tolist()
    return np.array([int(text) if _is_int64(text) else float(text) for text in texts])


def _boolean(column, reason):
    _check(
        column, f"must be true or false{reason}", lambda label: text_of(label).lower() not in BOOLEANS
    )
    return texts_of(column) == "True"


def _check_text(column):
    allowed = "must be text of one line, without control characters"
    _check(column, allowed, lambda label: CONTROLS.intersection(text_of(label)))


def _check(column, allowed, is_wrong):
    """Raise WrongValue if a label is wrong."""
    if column.dtype.kind not in "biuf":
        texts_of(column)  # raises if values are nested
    for label in column.unique():
        if is_wrong(label):
            rows = column == label if label == label else column.isna()
            row = int(np.flatnonzero(rows)[0])
            raise WrongValue(column.name, row, label, f"the label {column.name!r} {allowed}", is_wrong)


def _is_int64(text):
    return WHOLE.fullmatch(text) is not None and len(text) < 21 and INT64.min <= int(text) <= INT64.max


def _is_exact(number):
    return number.is_integer() and abs(number) < 2**53


def _is_number(text):
    return math.isfinite(number_of(text)) and text.lower() not in BOOLEANS
