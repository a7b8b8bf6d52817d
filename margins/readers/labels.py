"""Labels of a table: whole numbers, booleans, or text. All arguments `labels` are a Distinct."""

import math

import numpy as np

from margins.readers.values import BLANKS, BOOLEANS, WHOLE, WrongValue, number_of, text_of

INT64 = np.iinfo(np.int64)
NO_FRACTION = "must be a whole number or text, which names a class; it may not have a fraction"
# Characters that would end a line of predictions, or that do not occur in text.
CONTROLS = frozenset(map(chr, [*range(32), *range(127, 160), 0x2028, 0x2029]))


def check_present(labels, missing):
    """Raise a WrongValue if a label is missing; `missing` has the texts that stand for one."""
    _check(labels, "must not be missing", lambda label: text_of(label) in missing)


def kind_of(labels):
    """Return the kind of labels, "whole", "boolean" or "text", or raise a WrongValue for fractions."""
    if labels.kind == "boolean":
        return "boolean"
    texts = set(map(text_of, labels.values))
    if all(map(_is_int64, texts)):
        return "whole"
    if all(text.lower() in BOOLEANS for text in texts):
        return "boolean"
    numbers = list(map(number_of, texts))
    if all(map(math.isfinite, numbers)) and not all(map(float.is_integer, numbers)):
        _check(labels, NO_FRACTION, lambda label: not number_of(label).is_integer())
    return "whole" if labels.kind == "numbers" else "text"


def labels_to_train(labels):
    """Return labels as a model will predict them (ndarray of integers, bool or str, shape (m,))."""
    kind = kind_of(labels)
    if labels.kind != "text":
        return labels_of(labels, kind)
    allowed = "must be text of one line, without control characters"
    _check(labels, allowed, lambda label: CONTROLS.intersection(text_of(label)))
    # Text stays as written, except whole numbers, and equal labels in different spellings.
    spellings = {}
    for value in labels.values:
        spellings.setdefault(text_of(value), set()).add(_as_written(value))
    names = {text: min(ways) if len(ways) == 1 else text for text, ways in spellings.items()}
    named_labels = labels.mapped(lambda label: names[text_of(label)])
    return named_labels.astype(np.int64 if all(map(_is_int64, names.values())) else str)


def labels_to_train_on(parts):
    """Return `labels_to_train` of parts: (function that reads the table, Distinct, number of rows)."""
    _, distinct, counts = zip(*parts, strict=True)
    begins = np.cumsum([0, *counts])
    n_before = np.cumsum([0, *(len(labels.values) for labels in distinct)])
    pairs = [*zip(distinct, begins, n_before, strict=False)]
    joined = distinct[0]._replace(
        values=[value for labels in distinct for value in labels.values],
        first=np.concatenate([labels.first + begin for labels, begin, _ in pairs]),
        codes=np.concatenate([labels.codes + n for labels, _, n in pairs]),
    )
    try:
        return labels_to_train(joined)
    except WrongValue as error:
        index = int(np.searchsorted(begins, error.row, side="right")) - 1
        error.row -= int(begins[index])
        raise parts[index][0]().located(error) from None


def labels_of(labels, kind, reason=""):
    """Return labels of a result of `kind_of`, for a reason in errors (ndarray, shape (m,))."""
    if kind == "boolean":
        return _boolean(labels, reason)
    if kind == "text":
        return labels.mapped(_as_written, str)
    return _converted(labels, f"must be a whole number of 64 bits{reason}", _is_int64, int, np.int64)


def labels_like(labels, classes):
    """Return labels to compare with the classes of a model, equal to a class in any spelling."""
    reason = ", as in the model"
    if classes.dtype.kind == "b":
        return _boolean(labels, reason)
    if classes.dtype.kind not in "iuf":
        class_of = {text_of(label): label for label in classes.tolist()}
        return labels.mapped(lambda label: class_of.get(text_of(label), text_of(label)), str)
    if labels.kind == "boolean":
        return labels.mapped(bool, bool)
    return _converted(labels, f"must be a number{reason}", _is_number, _number, None)


def _boolean(labels, reason):
    allowed = f"must be true or false{reason}"
    return _converted(labels, allowed, lambda text: text.lower() in BOOLEANS, "True".__eq__, bool)


def _converted(labels, allowed, is_valid, convert, dtype):
    """Return labels converted from their texts; raise a WrongValue if a text is not valid."""
    _check(labels, allowed, lambda label: not is_valid(text_of(label)))
    return labels.mapped(lambda label: convert(text_of(label)), dtype)


def _check(labels, allowed, is_wrong):
    labels.check(f"the label {labels.name!r} {allowed}", is_wrong)


def _as_written(label):
    return label.strip(BLANKS) if isinstance(label, str) else text_of(label)


def _is_int64(text):
    return WHOLE.fullmatch(text) is not None and len(text) < 21 and INT64.min <= int(text) <= INT64.max


def _is_number(text):
    return math.isfinite(number_of(text)) and text.lower() not in BOOLEANS


def _number(text):
    return int(text) if _is_int64(text) else float(text)
