"""Digests: a short name for data, parameters and code, the same in every process.

The bytes of a pickle depend on which parts objects share, so values are decomposed into numbers, strings
and the bytes of arrays. Code of installed packages is named by their files; the user's own functions and
classes are decomposed into bytecode, constants and all values that they refer to (`code`).
"""

import hashlib
import types

import numpy as np
from scipy import sparse

from margins.model_selection.code import (
    ByReference,
    Member,
    Undigestible,
    described,
    parts_of_code,
    parts_of_reference,
)

PRIMITIVE = (type(None), bool, int, float, complex, str, bytes)
ARRAYS = (np.ndarray, np.memmap)


def digest(*values):
    """A hexadecimal name for some values.

    Parameters
    ----------
    *values : object
        Numbers, strings, containers, arrays, sparse matrices, data frames, functions, classes,
        and what pickle can decompose into such. Estimators with all that they have fitted.

    Returns
    -------
    str, of 40 digits

    Raises
    ------
    Undigestible
        A TypeError, if a value cannot be decomposed.

    Examples
    --------
    >>> digest({"tau": 0.5, "C": 1}) == digest({"C": 1, "tau": 0.5})
    True
    >>> digest(1) == digest(1.0) or digest("1") == digest(1)
    False
    >>> digest(lambda: 1) == digest(lambda: 2)
    False
    """
    return _Digest().of(values)


class _Digest:
    """One digest. Functions, classes and modules are decomposed once each.

    A value that refers to one holds its number instead, in the order of the first references, so
    functions may call each other.
    """

    def __init__(self):
        self._numbers = {}
        self._referred = []
        self._referrers = []  # of each of them, the one that referred to it first
        self._current = None
        self._open = set()

    def of(self, values):
        first = self._value(values)
        if not self._referred:
            return first.hex()
        whole = hashlib.blake2b(first, digest_size=20)
        for number, value in enumerate(self._referred):  # it grows meanwhile
            self._current = number
            try:
                whole.update(self._hashed(parts_of_reference(value)))
            except Undigestible as error:
                raise self._with_referrers(error) from error.__cause__
        return whole.hexdigest()

    def _with_referrers(self, error):
        number = self._current
        while number is not None:
            error = error.within(described(self._referred[number]))
            number = self._referrers[number]
        return error

    def _value(self, value):
        reference = ByReference.to(value)
        if reference is not None:
            if reference.key not in self._numbers:
                self._numbers[reference.key] = len(self._numbers)
                self._referred.append(reference)
                self._referrers.append(self._current)
            return hashlib.blake2b(b"%d" % self._numbers[reference.key], digest_size=20).digest()
        if isinstance(value, Member):
            try:
                return self._value((value.name, value.value))
            except Undigestible as error:
                raise error.within(value.name) from error.__cause__
        if id(value) in self._open:
            raise Undigestible("A value must not contain itself to be digested", value)
        self._open.add(id(value))
        try:
            return self._hashed(self._decomposed(value))
        except RecursionError:
            raise Undigestible("A value must not be nested deeply to be digested", value) from None
        finally:
            self._open.discard(id(value))

    def _hashed(self, parts):
        whole = hashlib.blake2b(digest_size=20)
        for part in parts:
            # Lengths keep parts apart: digests have one length, and bytes are preceded by theirs.
            if isinstance(part, bytes | memoryview):
                whole.update(b"%d:" % len(part))
                whole.update(part)
            else:
                whole.update(self._value(part))
        return whole.digest()

    def _decomposed(self, value):
        """The parts that identify a value: bytes, or values to be decomposed in turn."""
        if isinstance(value, np.generic) and not isinstance(value, np.void):
            value = value.item()
        kind = type(value)
        yield f"{kind.__module__}.{kind.__qualname__}".encode()
        if kind in PRIMITIVE or isinstance(value, np.longdouble | np.clongdouble):
            yield value if kind is bytes else repr(value).encode(errors="surrogatepass")
        elif kind in (list, tuple):
            yield from value
        elif kind in (dict, types.MappingProxyType):
            keys = sorted((self._value(key), position) for position, key in enumerate(value))
            values = list(value.values())
            for key, position in keys:
                yield key
                yield values[position]
        elif kind in (set, frozenset):
            # Numbers of functions and classes follow their names, for a set has no order.
            yield b"".join(sorted(map(self._value, sorted(value, key=described))))
        elif kind in ARRAYS:
            yield from _of_array(value)
        elif sparse.issparse(value):
            rows = value.tocsr()
            yield from (value.format, value.shape, rows.data, rows.indices, rows.indptr)
        elif hasattr(value, "dtypes") and hasattr(value, "columns"):
            yield from _of_frame(value)
        elif hasattr(value, "dtype") and hasattr(value, "iloc"):
            yield from (value.name, *_of_column(value), value.index)
        elif isinstance(value, np.dtype):
            yield str(value).encode()
        else:
            yield from parts_of_code(value)


def _of_array(array):
    yield from (array.dtype.str, array.shape)
    if array.dtype.names:
        yield str(array.dtype)
    if array.dtype.hasobject or array.dtype.char in "gG":  # those of long doubles have unused bytes
        yield list(array.flat) if array.dtype.char in "gG" else array.tolist()
        return
    # Sums in another order may end in another last bit.
    yield array.flags.f_contiguous
    yield memoryview(np.ascontiguousarray(array).reshape(-1).view(np.uint8))


def _of_frame(frame):
    yield from ([str(name) for name in frame.columns], [str(each) for each in frame.dtypes])
    for number in range(len(frame.columns)):
        # By position where names may be repeated.
        column = frame.iloc[:, number] if hasattr(frame, "iloc") else frame[frame.columns[number]]
        yield from _of_column(column)
    if hasattr(frame, "index"):
        yield np.asarray(frame.index)


def _of_column(column):
    yield str(column.dtype)
    categories = getattr(column.dtype, "categories", None)
    if categories is not None:
        yield np.asarray(categories)
    yield np.asarray(column)
