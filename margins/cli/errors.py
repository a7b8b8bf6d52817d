"""Exit codes, and the errors that carry one."""

import contextlib

from margins.readers.malformed import MalformedFile

DONE = 0
FAILED = 1  # any other error
WRONG_USAGE = 2
UNREADABLE = 3
NOT_PROVEN = 4
INTERRUPTED = 130  # 128 + SIGINT, as shells count
UNREAD = 141  # 128 + SIGPIPE

EXIT_CODES = """\b
Exit codes:
  0    done
  1    any error other than those below, such as a plug-in that cannot be imported
  2    wrong usage: an option, a parameter or an algorithm does not exist or is not allowed
  3    a file is missing or malformed, its samples cannot be trained on or predicted, or output
       cannot be written or would overwrite another file
  4    the model was trained and written, but its accuracy was not proven
  130  interrupted by Ctrl-C; no file was written
  141  standard output was closed by its reader, as in `| head`"""


class CommandError(Exception):
    """An error that ends a command with one message, without a traceback, and an exit code."""

    def __init__(self, message, exit_code=WRONG_USAGE):
        super().__init__(message)
        self.exit_code = exit_code


def unreadable(message):
    """Return the CommandError for a file that cannot be read or written."""
    return CommandError(message, UNREADABLE)


@contextlib.contextmanager
def accessing(path, verb):
    """Return a context that turns an OSError into a CommandError about a file."""
    try:
        yield
    except OSError as error:
        raise unreadable(f"{path}: cannot be {verb}: {error.strerror or error}") from error


@contextlib.contextmanager
def samples_in_files():
    """Return a context that turns an error about a file, which names it, into a CommandError."""
    try:
        yield
    except MalformedFile:
        raise
    except OSError as error:
        raise unreadable(f"{error.filename}: cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise unreadable(str(error)) from error


@contextlib.contextmanager
def samples_of(path):
    """Return a context that reports a ValueError as caused by the samples in a file."""
    try:
        yield
    except MalformedFile:
        raise
    except ValueError as error:
        from margins.parameters import WrongParameter  # imports NumPy, which predictions do without

        if isinstance(error, WrongParameter):  # of an option, with any samples
            raise
        raise unreadable(f"{path}: {error}") from error
