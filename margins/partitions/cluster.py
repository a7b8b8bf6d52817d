"""Data on a cluster of dask whose workers may be lost at any time."""

from concurrent.futures import CancelledError


def scattered(value, client):
    """A value on the workers of a cluster: distributed.Future, or of a list, tuple or dict one of each.

    CancelledError if it cannot be sent because a worker is lost meanwhile, where `Client.scatter` may
    raise anything, or because there is none. A copy that is lost later cancels what is made of it.
    """
    workers = set(client.ncores())
    try:
        return client.scatter(value, hash=False)
    except Exception as error:
        lost = workers.difference(client.ncores())
        # The scheduler also looks up workers that came and went since they were counted.
        if workers and not (lost or isinstance(error, OSError | KeyError)):
            raise
        what = sorted(lost) or repr(error) if workers else "none"
        raise CancelledError(f"workers of dask: {what}") from error
