"""Labels of a table: whole numbers, booleans, or text."""

import math

import numpy as np

from margins.data.table_values import BLANKS, BOOLEANS, WHOLE, number_of, text_of

INT64 = np.iinfo(np.int64)
NO_FRACTION = "must be a whole number or text, which names a class; it may not have a fraction"
EXACT = "must be a whole number below 2**53 in size, or text, which names a class"
# Characters that would end a line of predictions, or that no text has.
CONTROLS = frozenset(map(chr, [*range(32), *range(127, 160), 0x2028, 0x2029]))


def check_present(labels, missing=frozenset(("",))):
    """Raise WrongValue if a label is missing, which texts of CSV, `missing`, may say.

    Parameters
    ----------
    labels : Distinct
    missing : set of str
    """
    if labels.kind not in "biuf" or labels.column.isna().any():
        _check(labels, "must not be missing", lambda label: text_of(label) in missing)


def kind_of(labels):
    """What labels are, a Distinct without missing values: "whole", "boolean" or "text".

    Text that is all whole numbers is "whole", and all true or false "boolean". WrongValue if all labels
    are numbers, but some have a fraction.
    """
    if labels.kind in "biuf":
        return "boolean" if labels.kind == "b" else "whole"
    texts = set(map(text_of, labels.values))
    if all(map(_is_int64, texts)):
        return "whole"
    if all(text.lower() in BOOLEANS for text in texts):
        return "boolean"
    numbers = list(map(number_of, texts))
    if all(map(math.isfinite, numbers)) and not all(map(float.is_integer, numbers)):
        _check(labels, NO_FRACTION, lambda label: not number_of(label).is_integer())
    return "text"


def labels_to_train(labels):
    """Labels as a model will give them back: ndarray of integers, bool or str, shape (m,).

    Parameters
    ----------
    labels : Distinct
        Without missing values. Text that is all whole numbers becomes int64; other text stays as it is
        written, except that equal labels that are written differently, as 1 and 1.0, become one.

    Raises
    ------
    WrongValue
        If labels are numbers with a fraction, or text that is not printed in a line.
    """
    kind = kind_of(labels)
    if labels.kind in "biuf":
        return labels_of(labels, kind)
    allowed = "must be text of one line, without control characters"
    _check(labels, allowed, lambda label: CONTROLS.intersection(text_of(label)))
    spellings = {}
    for value in labels.values:
        spellings.setdefault(text_of(value), set()).add(_as_written(value))
    named = {text: min(ways) if len(ways) == 1 else text for text, ways in spellings.items()}
    named_labels = labels.mapped(lambda label: named[text_of(label)])
    return named_labels.astype(np.int64 if all(map(_is_int64, named.values())) else str)


def labels_of(labels, kind, reason=""):
    """Labels of a kind: ndarray of integers, bool or str, shape (m,).

    Parameters
    ----------
    labels : Distinct
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
        return _boolean(labels, reason)
    if kind == "text":
        return labels.mapped(_as_written, str)
    if labels.kind in "iu":
        return labels.column.to_numpy()
    if labels.kind == "f":
        _check(labels, EXACT, lambda label: not _is_exact(number_of(label)))
        return labels.column.to_numpy().astype(np.int64)
    allowed = f"must be a whole number of 64 bits{reason}"
    return _converted(labels, allowed, _is_int64, int, np.int64)


def labels_like(labels, classes):
    """Labels that are compared with those of a model: ndarray, shape (m,), of the kind of its classes.

    Parameters
    ----------
    labels : Distinct
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
        return _boolean(labels, reason)
    if classes.dtype.kind not in "iuf":
        known = {text_of(label): label for label in classes.tolist()}
        return labels.mapped(lambda label: known.get(text_of(label), text_of(label)), str)
    if labels.kind in "biuf":
        return labels.column.to_numpy()
    return _converted(labels, f"must be a number{reason}", _is_number, _number, None)


def labels_among(labels, classes):
    """Labels, each of them one of the classes, however it is written: ndarray like them, shape (m,).

    Parameters
    ----------
    labels : Distinct
        Without missing values.
    classes : ndarray
        As `labels_to_train` makes them of all labels.

    Raises
    ------
    WrongValue
        If a label is none of them.
    """
    known = {text_of(label): label for label in classes.tolist()}
    allowed = "must be one that was read before"
    return _converted(labels, allowed, known.__contains__, known.__getitem__, classes.dtype)


def _boolean(labels, reason):
    allowed = f"must be true or false{reason}"
    return _converted(labels, allowed, lambda text: text.lower() in BOOLEANS, "True".__eq__, bool)


def _converted(labels, allowed, is_right, convert, dtype):
    """Labels by their texts: ndarray of the dtype; WrongValue if one is not right."""
    _check(labels, allowed, lambda label: not is_right(text_of(label)))
    return labels.mapped(lambda label: convert(text_of(label)), dtype)


def _check(labels, allowed, is_wrong):
    labels.check(f"the label {labels.name!r} {allowed}", is_wrong)


def _as_written(label):
    return label.strip(BLANKS) if isinstance(label, str) else text_of(label)


def _is_int64(text):
    return WHOLE.fullmatch(text) is not None and len(text) < 21 and INT64.min <= int(text) <= INT64.max


def _is_exact(number):
    return number.is_integer() and abs(number) < 2**53


def _is_number(text):
    return math.isfinite(number_of(text)) and text.lower() not in BOOLEANS


def _number(text):
    return int(text) if _is_int64(text) else float(text)
