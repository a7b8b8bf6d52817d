"""Chunks of files in svmlight's format, each about 32 megabytes of lines."""

import warnings
from numbers import Integral

import numpy as np
from scipy import sparse

from margins.data.files import TEXT_BYTES, bytes_of, check_not_empty, n_lines_before, ranges_of_lines
from margins.data.malformed import MalformedFile
from margins.data.svmlight import LARGEST_INDEX, note_of_skipped, parsed


class LinesOfSvmlight:
    """Reader of some lines of a file in svmlight's format.

    Parameters
    ----------
    path : str
    begin, end : int
        Byte range of the lines.
    n_features : int
    zero_based : bool
    warned_paths : set of str
        Files whose skipped fields have caused a warning; shared with other readers, and updated.
    option : str
        How to set `zero_based`, for errors.
    """

    def __init__(self, path, begin, end, n_features, zero_based, warned_paths, option):
        self.path, self._begin, self._end, self._option = path, begin, end, option
        self._n_features, self._zero_based = n_features, zero_based
        self._warned_paths = warned_paths

    def __call__(self):
        arrays = self._arrays(self._n_features - self._zero_based)
        X = sparse.csr_array(arrays[:3], shape=(arrays.shape[0], self._n_features))
        X.has_canonical_format = True  # the reader rejects anything else
        return X, arrays.labels

    def _arrays(self, largest):
        """Return the arrays of the lines (CsrArrays)."""
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
        except MalformedFile as error:  # its line number counts from the start of this part
            raise error.moved(n_lines_before(self.path, self._begin)) from None
        if arrays.skipped and self.path not in self._warned_paths:
            self._warned_paths.add(self.path)
            warnings.warn(note_of_skipped(self.path, arrays.skipped), stacklevel=2)
        return arrays

    def width(self, largest):
        """Read the lines and return their number of features (int)."""
        return self._arrays(largest).shape[1]


def svmlight_parts(paths, n_features, zero_based, n_bytes=TEXT_BYTES, option="zero_based=True"):
    """Divide files in svmlight's format into parts of about `n_bytes` (list of LinesOfSvmlight)."""
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
    options = zero_based, set(), option
    ranges = [(path, *ends) for path in paths for ends in ranges_of_lines(path, n_bytes)]
    if n_features is None:
        parts = [LinesOfSvmlight(*byte_range, 0, *options) for byte_range in ranges]
        n_features = max((part.width(LARGEST_INDEX) for part in parts), default=0)
    check_not_empty(ranges, paths, "Chunks.from_svmlight")
    return [LinesOfSvmlight(*byte_range, n_features, *options) for byte_range in ranges]
