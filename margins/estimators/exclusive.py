"""Guards around the training of an estimator: one thread at a time, attributes restored on errors.

Compiled loops release the GIL and write to the state of a fit, so two loops in one estimator would write
to the same memory. The guard holds no lock: nothing blocks, and a forked process inherits no lock.
"""

import os
import threading
from contextlib import contextmanager

# The call that trains an estimator, as (thread, object of the call), by the identity of the estimator.
_OWNERS: dict[int, tuple[int, object]] = {}

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_OWNERS.clear)  # the child has no other threads


@contextmanager
def exclusive(estimator, method):
    """Mark an estimator as in use while the body runs."""
    call = threading.get_ident(), object()
    owner = _OWNERS.setdefault(id(estimator), call)  # atomic
    if owner is not call:
        user = "a call that has not ended" if owner[0] == call[0] else "another thread"
        raise RuntimeError(
            f"{type(estimator).__name__}.{method} must be called by one thread at a time: this "
            f"estimator is in use by {user}."
        )
    try:
        yield
    finally:
        _OWNERS.pop(id(estimator), None)


class restored_on_error:
    """Context that restores the attributes of an estimator if its body raises an error."""

    def __init__(self, estimator):
        self._attributes, self._before = vars(estimator), vars(estimator).copy()

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        if kind is not None:
            self._attributes.clear()
            self._attributes.update(self._before)
