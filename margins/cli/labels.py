"""Labels of a table: whole numbers, or text as it is written."""

import math
import re

import numpy as np

# The one way to write each whole number, so that "01" and "+1" stay text and differ from "1".
WHOLE = re.compile("0|-?[1-9][0-9]*")
INT64 = np.iinfo(np.int64)


class WrongLabel(Exception):
    """A label that is not `allowed`; ``is_wrong(label)``: bool finds it, as the table has it."""

    def __init__(self, allowed, is_wrong):
        super().__init__(allowed)
        self.allowed, self.is_wrong = allowed, is_wrong


def labels_of(column, classes=None):
    """The labels of samples, a pandas.Series without missing values: ndarray, shape (m,).

    A fit gets int64 if all are whole numbers, else str or bool. With `classes`, an ndarray of the model
    that labels are compared with, they are of its kind, if text can be read so. WrongLabel if labels of
    a fit have a fraction, or text is not of the kind of the classes.
    """
    if column.dtype.kind in "biuf":
        return column.to_numpy() if classes is not None else _of_numbers(column.to_numpy())
    return _of_texts(column.astype(str).to_numpy(dtype=object), classes)


def _of_numbers(labels):
    if labels.dtype.kind != "f":
        return labels
    if not all(_is_whole(label) and abs(label) < 2**53 for label in np.unique(labels).tolist()):
        raise WrongLabel(
            "must be a whole number below 2**53 in size, or text, which names a class",
            lambda label: not _is_whole(label) or abs(label) >= 2**53,
        )
    return labels.astype(np.int64)


def _of_texts(texts, classes):
    distinct = set(texts.tolist())
    if classes is None:
        if all(map(_is_int64, distinct)):
            return texts.astype(np.int64)
        numbers = list(map(_number, distinct))
        if None not in numbers and not all(map(_is_whole, numbers)):
            raise WrongLabel(
                "must be a whole number or text, which names a class; it may not have a fraction",
                lambda text: not _is_whole(_number(text)),
            )
        return texts.astype(str)
    if classes.dtype.kind == "b":
        return _read(texts, distinct, _boolean, "must be true or false, as the model's")
    if classes.dtype.kind in "iuf":
        return _read(texts, distinct, _number, "must be a number, as the model's")
    return texts.astype(str)


def _read(texts, distinct, read, allowed):
    values = {text: read(text) for text in distinct}
    if None in values.values():
        raise WrongLabel(allowed, lambda text: read(text) is None)
    return np.array([values[text] for text in texts.tolist()])


def _is_int64(text):
    text = text.strip()
    return WHOLE.fullmatch(text) is not None and INT64.min <= int(text) <= INT64.max


def _is_whole(number):
    return math.isfinite(number) and number == math.floor(number)


def _number(text):
    """The finite number that a text is: int or float; None if it is none."""
    if _is_int64(text):
        return int(text)
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _boolean(text):
    return {"true": True, "false": False}.get(text.strip().lower())
