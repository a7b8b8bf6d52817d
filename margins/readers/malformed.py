class MalformedFile(ValueError):
    """Error of a file that is not in the expected format; its line and column count from 1."""

    def __init__(self, path, line, column, problem):
        super().__init__(f"{path}:{line}:{column}: {problem}")
        self.path, self.line, self.column, self.problem = path, line, column, problem

    def moved(self, n_lines):
        """Return the same error, `n_lines` further down in the file (MalformedFile)."""
        return MalformedFile(self.path, self.line + n_lines, self.column, self.problem)
