"""Data on a dask cluster whose workers may be lost at any time."""

from concurrent.futures import CancelledError


def scattered(value, client):
    """Send a value to the workers; return a Future, or a list, tuple or dict of Futures.

    Raises CancelledError if there are no workers or if one is lost meanwhile, in which case
    `Client.scatter` may raise any error. If a copy is lost later, dask cancels the tasks that use it.
    """
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
