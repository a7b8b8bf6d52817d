"""The error of a file that is not in its format."""


class MalformedFile(ValueError):
    """A file that is not in the format expected, with the place of what is wrong.

    Parameters
    ----------
    path : str
    line, column : int
        From 1.
    problem : str
    """

    def __init__(self, path, line, column, problem):
        super().__init__(f"{path}:{line}:{column}: {problem}")
        self.path, self.line, self.column, self.problem = path, line, column, problem

    def moved(self, n_lines):
        """The same error, that many lines further down: MalformedFile."""
        return MalformedFile(self.path, self.line + n_lines, self.column, self.problem)
