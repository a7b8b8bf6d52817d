"""Data on a cluster of dask whose workers may be lost at any time."""

from concurrent.futures import CancelledError


def scattered(value, client):
    """A copy of a value on one worker, or of each element on one, from which the others fetch it.

    It is not sent to all at once: if a worker is lost then, the scheduler (`Scheduler.replicate`) goes
    on sending to it for ever, and the next one that is sent to all waits for its lock.

    Parameters
    ----------
    value : object
    client : distributed.Client

    Returns
    -------
    distributed.Future
        Of a list, tuple or dict a collection of them, one for each element.

    Raises
    ------
    CancelledError
        If it cannot be sent, as a worker is lost meanwhile, where `Client.scatter` may raise anything,
        or there is none. A copy that is lost later cancels what is made of it.
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
