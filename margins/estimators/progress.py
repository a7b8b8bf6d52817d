"""Progress lines that a fit with ``verbose`` prints, and their destination."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from margins.estimators.messages import short_name

_write: ContextVar[Callable[[str], object]] = ContextVar("write", default=print)


@contextmanager
def progress_to(write: Callable[[str], object]) -> Iterator[None]:
    """Pass the progress lines of fits that start in this context to a function instead of printing."""
    token = _write.set(write)
    try:
        yield
    finally:
        _write.reset(token)


def reporter_of(estimator: object) -> Callable[[str], object]:
    """Return a function that writes a progress line, preceded by the name of the estimator."""
    name, write = short_name(estimator), _write.get()
    return lambda line: write(f"{name}: {line}")
