"""Data on a cluster whose workers are lost."""

from concurrent.futures import CancelledError

import pytest

from margins.partitions.executors import scattered


class LosingClient:
    """A client of dask whose data cannot be sent: one of its two workers may be lost, or it has none."""

    def __init__(self, error, is_lost):
        both = {"a": 1, "b": 1}
        self._workers = [{}, {}] if is_lost is None else [both, {"a": 1} if is_lost else both]
        self._error = error

    def ncores(self):
        return self._workers.pop(0)

    def scatter(self, shared, **options):
        raise self._error


@pytest.mark.parametrize(
    ("error", "is_lost", "expected", "message"),
    [
        (ValueError("Can not use replicate"), True, CancelledError, r"workers of dask: \['b'\]"),
        (ValueError("Can not use replicate"), None, CancelledError, "workers of dask: none"),
        (KeyError("tcp://b"), True, CancelledError, r"workers of dask: \['b'\]"),
        (TimeoutError("No valid workers found"), None, CancelledError, "workers of dask: none"),
        (KeyError("tcp://c"), False, CancelledError, r"workers of dask: KeyError\('tcp://c'\)"),
        (ValueError("a bug"), False, ValueError, "a bug"),
        (OSError("closed"), False, CancelledError, r"workers of dask: OSError\('closed'\)"),
    ],
)
def test_a_worker_that_is_lost_while_data_are_sent(error, is_lost, expected, message):
    with pytest.raises(expected, match=message):
        scattered(object(), LosingClient(error, is_lost))
