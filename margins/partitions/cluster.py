"""Data on a dask cluster whose workers may be lost at any time."""

from concurrent.futures import CancelledError


def scattered(value, client):
    """Send a value to the workers, and return its Futures; CancelledError if a worker is lost."""
    workers = set(client.ncores())
    try:
        return client.scatter(value, hash=False)
    except Exception as error:
        lost = workers.difference(client.ncores())
        # The scheduler also looks up workers that joined and left after we counted.
        if workers and not (lost or isinstance(error, OSError | KeyError)):
            raise
        what = sorted(lost) or repr(error) if workers else "none"
        raise CancelledError(f"workers of dask: {what}") from error
