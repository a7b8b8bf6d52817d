"""A context that is entered and left as a whole, even if Ctrl-C comes.

The interpreter may raise KeyboardInterrupt at the start of any Python function, including `__exit__`, which then
undoes nothing. The start of a compiled method raises nothing.
"""


cdef class Context:
    """``with Context(limit):`` calls ``limit.enter(number)`` and ``limit.leave(number)``, possibly again."""

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
