"""Progress lines that a fit with ``verbose`` prints, and their destination."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from margins.estimators.messages import short_name

_write: ContextVar[Callable[[str], object]] = ContextVar("write", default=print)


@contextmanager
def progress_to(write: Callable[[str], object]) -> Iterator[None]:
    """Pass the progress lines of fits that start in this context to a function instead of printing.

    Parameters
    ----------
    write : callable
        ``write(line)``; threads of one fit may call it.

    Examples
    --------
    >>> import margins
    >>> X, y = [[1, 2], [2, 1], [-1, -1], [-2, 0]], [1, 1, 0, 0]
    >>> lines = []
    >>> with progress_to(lines.append):
    ...     _ = margins.get("pdm")(verbose=1, random_state=0).fit(X, y)
    >>> lines[0].startswith("pdm: epoch 1")
    True
    """
    token = _write.set(write)
    try:
        yield
    finally:
        _write.reset(token)


def reporter_of(estimator: object) -> Callable[[str], object]:
    """Return a function that writes a progress line, preceded by the name of the estimator."""
    name, write = short_name(estimator), _write.get()
    return lambda line: write(f"{name}: {line}")
