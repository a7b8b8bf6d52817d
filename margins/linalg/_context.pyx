# cython: language_level=3
"""A context that is entered and left as a whole, whenever Ctrl-C comes.

The interpreter raises KeyboardInterrupt where a Python function begins, also where `__exit__` does: what it was to
undo is then left as it is. A compiled method begins without that.
"""


cdef class Context:
    """``with Context(limit):`` calls ``limit.enter(number)`` and ``limit.leave(number)``.

    Parameters
    ----------
    limit : object
        Its `leave` may be called again, and then does what is left to do.
    """

    def __init__(self, limit):
        self.limit = limit

    def __enter__(self):
        try:
            self.limit.enter(id(self))
        except BaseException:
            self.limit.leave(id(self))
            raise

    def __exit__(self, *error):
        try:
            self.limit.leave(id(self))
        except BaseException:
            self.limit.leave(id(self))
            raise
