"""Chunks of files in svmlight's format: lines, about 32 megabytes at a time."""

import warnings
from numbers import Integral

import numpy as np
from scipy import sparse

from margins.data.files import TEXT_BYTES, bytes_of, check_not_empty, n_lines_before, ranges_of_lines
from margins.data.malformed import MalformedFile
from margins.data.svmlight import LARGEST_INDEX, note_of_skipped, parsed


class LinesOfSvmlight:
    """Reads some lines of a file in svmlight's format.

    Parameters
    ----------
    path : str
    begin, end : int
        The bytes of the lines.
    n_features : int
    zero_based : bool
    noted : set of str
        The files whose skipped fields have been warned of; shared, and added to.
    option : str
        How `zero_based` is given, for errors.
    """

    def __init__(self, path, begin, end, n_features, zero_based, noted, option):
        self.path, self._begin, self._end, self._option = path, begin, end, option
        self._n_features, self._zero_based, self._noted = n_features, zero_based, noted

    def __call__(self):
        arrays = self._arrays(self._n_features - self._zero_based)
        X = sparse.csr_array(arrays[:3], shape=(arrays.shape[0], self._n_features))
        X.has_canonical_format = True  # the reader rejects anything else
        return X, arrays.labels

    def _arrays(self, largest):
        """The arrays of the lines: CsrArrays."""
        text = bytes_of(self.path, self._begin, self._end)
        try:
            arrays = parsed(
                text,
                self.path,
                zero_based=self._zero_based,
                largest=largest,
                may_be_empty=True,
                option=self._option,
            )
        except MalformedFile as error:  # its line is one of this part
            raise error.moved(n_lines_before(self.path, self._begin)) from None
        if arrays.skipped and self.path not in self._noted:
            self._noted.add(self.path)
            warnings.warn(note_of_skipped(self.path, arrays.skipped), stacklevel=2)
        return arrays

    def width(self, largest):
        """The number of features that the lines have, read for it: int."""
        return self._arrays(largest).shape[1]


def svmlight_parts(paths, n_features, zero_based, n_bytes=TEXT_BYTES, option="zero_based=True"):
    """Lines of files in svmlight's format, about `n_bytes` at a time: list of LinesOfSvmlight."""
    largest = LARGEST_INDEX + bool(zero_based)
    is_count = isinstance(n_features, Integral) and not isinstance(n_features, bool)
    if n_features is not None and not (is_count and 1 <= n_features <= largest):
        raise ValueError(
            "n_features of Chunks.from_svmlight must be None or an integer in "
            f"[1, {largest}]. Got {n_features!r}."
        )
    if not isinstance(zero_based, bool | np.bool_):
        raise ValueError(
            f"zero_based of Chunks.from_svmlight must be True or False. Got {zero_based!r}."
        )
    noted = set()
    ranges = [(path, *each) for path in paths for each in ranges_of_lines(path, n_bytes)]
    if n_features is None:
        parts = [LinesOfSvmlight(*each, 0, zero_based, noted, option) for each in ranges]
        n_features = max((part.width(LARGEST_INDEX) for part in parts), default=0)
    check_not_empty(ranges, paths, "Chunks.from_svmlight")
    return [LinesOfSvmlight(*each, n_features, zero_based, noted, option) for each in ranges]
