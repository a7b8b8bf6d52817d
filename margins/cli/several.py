"""Several files of one command: what they have in common, and whether they fit into memory."""

import os
import stat

from margins.cli.errors import CommandError, unreadable
from margins.cli.files import COMPRESSED
from margins.cli.samples import name_of

# Bytes of memory for each byte of text, and for each value of Parquet, that reading and training take:
# about the most that docs/larger_than_memory.md measures. Text of categories takes twice as much.
BYTES_OF_TEXT = 16
BYTES_OF_VALUE = 64
# Bytes of text for each byte that is compressed, where nothing says it.
COMPRESSION = 10


def files_and_predictions(files, output):
    """The data files and the file of predictions, of the arguments of `predict`: list of str, str."""
    if output is not None:
        return list(files), output
    if len(files) > 2:
        raise CommandError(
            f"predict takes MODEL, DATA and OUTPUT, or MODEL and several data files with -o OUTPUT. "
            f"Got {len(files)} files after the model without -o. Give the file of predictions by -o, or "
            "-o - for standard output."
        )
    return [files[0]], files[1] if len(files) > 1 else "-"


def files_and_model(files, output):
    """The data files and the file of the model, of the arguments of `train`: list of str, str."""
    if output is not None:
        return list(files), output
    if len(files) > 2:
        raise CommandError(
            f"train takes DATA and MODEL, or any number of data files with -o MODEL. Got {len(files)} "
            "files without -o. Give the model's file by -o."
        )
    return [files[0]], files[1]


def check_alike(sources):
    """Raise CommandError if files are not of one format, or one of several is standard input."""
    first = sources[0]
    for source in sources:
        if source.path == "-" and len(sources) > 1:
            raise CommandError(
                "-: standard input cannot be one of several files. Give it alone, or write it to a file."
            )
        if source.kind != first.kind:
            raise CommandError(
                f"{source.path}: all files must be of one format, {first.kind}, as {first.path}. "
                f"Got {source.kind}. Leave it out, or give --format if the name does not say the format."
            )


def reason_to_stream(sources, is_asked, may_stream):
    """Why files are streamed: str; None: they are read into memory.

    Parameters
    ----------
    sources : list of Source
    is_asked : bool
        True: they are streamed in any case.
    may_stream : bool
        True: they are streamed if they do not fit into memory.

    Raises
    ------
    CommandError
        If a file would have to be streamed, and cannot be read in parts.
    """
    if not is_asked and not may_stream:
        return None
    sizes = [_size_of(source) for source in sources]
    reason = "--stream is given"
    if not is_asked:
        from margins.linalg.memory import available_bytes, text_of_bytes

        needed, available = sum(needed for needed, _ in sizes), available_bytes()
        needed *= 2 if sources[0].categorical else 1
        if available is None or needed <= available:
            return None
        reason = (
            f"they may need {text_of_bytes(needed)} of memory, and {text_of_bytes(available)} are free"
        )
    for source, (_, obstacle) in zip(sources, sizes, strict=True):
        if obstacle is not None:
            raise unreadable(
                f"{source.path}: cannot be streamed: it is {obstacle}. {name_of(sources)}: would be "
                f"streamed, as {reason}."
            )
    return reason


def _size_of(source):
    """The bytes of memory that a file takes at most, and why it cannot be streamed: int, str or None."""
    if source.path == "-":
        return 0, "standard input, which is read once only"
    try:
        status = os.stat(source.path)
        if not stat.S_ISREG(status.st_mode):
            return 0, "no ordinary file"
        with open(source.path, "rb") as file:
            begin = file.read(max(map(len, COMPRESSED)))
            file.seek(-min(4, status.st_size), os.SEEK_END)
            end = file.read()
    except OSError as error:
        raise unreadable(f"{source.path}: cannot be read: {error.strerror or error}") from error
    module = next((name for magic, name in COMPRESSED.items() if begin.startswith(magic)), None)
    if module is not None:
        # The end of gzip is the length, modulo 2**32 and of the last member alone.
        length = int.from_bytes(end, "little") if module == "gzip" else 0
        size = max(COMPRESSION * status.st_size, length)
        return BYTES_OF_TEXT * size, "compressed. Decompress it"
    if source.kind == "parquet":
        return status.st_size + BYTES_OF_VALUE * _n_values(source.path), None
    return BYTES_OF_TEXT * status.st_size, None


def _n_values(path):
    """Rows times columns of a Parquet file: int; 0 if it is damaged, which reading it reports."""
    try:
        from pyarrow import parquet

        metadata = parquet.read_metadata(path)
        return metadata.num_rows * metadata.num_columns
    except Exception:  # pyarrow's errors have many types
        return 0
