"""What ends a command: exit codes, and the errors that carry one."""

import contextlib

from margins.data.malformed import MalformedFile

DONE = 0
FAILED = 1  # an error of none of the other kinds
WRONG_USAGE = 2
UNREADABLE = 3
NOT_PROVEN = 4
INTERRUPTED = 130  # 128 + SIGINT, as shells count
UNREAD = 141  # 128 + SIGPIPE

EXIT_CODES = """\b
Exit codes:
  0    done
  1    an error of none of the kinds below, such as a plug-in that cannot be imported
  2    wrong usage: an option, a parameter or an algorithm that does not exist or is not allowed
  3    a file that is missing or malformed, output that cannot be written or would overwrite
       another file, or samples in a file that cannot be trained on or predicted
  4    trained, and the model is written, but the accuracy was not proven
  130  interrupted by Ctrl-C; no file is written
  141  nothing reads standard output any more, as after `| head`"""


class CommandError(Exception):
    """An error of a command: one message, without a traceback, and the exit code."""

    def __init__(self, message, exit_code=WRONG_USAGE):
        super().__init__(message)
        self.exit_code = exit_code


def unreadable(message):
    """The error of a file that cannot be read or written: CommandError."""
    return CommandError(message, UNREADABLE)


@contextlib.contextmanager
def samples_in_files():
    """A context in which a ValueError or OSError is one of files that its message names."""
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
    """A context in which a ValueError is one of the samples in a file.

    Parameters that are not allowed whatever the samples are have been found before.
    """
    try:
        yield
    except MalformedFile:
        raise
    except ValueError as error:
        raise unreadable(f"{path}: {error}") from error
