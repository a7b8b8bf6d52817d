"""Several files for one command: their common format, and whether they fit into memory."""

import os
import stat

import click

from margins.cli.errors import CommandError, unreadable
from margins.cli.files import COMPRESSED
from margins.cli.samples import name_of

# Bytes of memory that reading and training take per byte of text, and per value of Parquet: about the
# largest numbers measured in docs/larger_than_memory.md. Categories in text take twice as much.
BYTES_OF_TEXT = 16
BYTES_OF_VALUE = 64
# Bytes of text per compressed byte, for files that do not state it.
COMPRESSION = 10


def files_and_predictions(files, output):
    """Split the arguments of `predict` into data files and the file of predictions: list of str, str."""
    if output is not None:
        return list(files), output
    if len(files) > 2:
        raise CommandError(
            f"predict takes MODEL, DATA and OUTPUT, or MODEL and several data files with -o OUTPUT. "
            f"Got {len(files)} files after the model without -o. Give the file of predictions with -o, "
            "or -o - for standard output."
        )
    return [files[0]], files[1] if len(files) > 1 else "-"


def files_and_model(files, output):
    """Split the arguments of `train` into data files and the model file: list of str, str."""
    if output is not None:
        return list(files), output
    if len(files) == 1 and files[0] == "-":
        raise click.MissingParameter(param_hint="'MODEL'", param_type="argument")
    if len(files) == 1:  # as LIBLINEAR and LIBSVM do
        return list(files), f"{os.path.basename(files[0])}.model"
    if len(files) > 2:
        raise CommandError(
            f"train takes DATA and MODEL, or any number of data files with -o MODEL. Got {len(files)} "
            "files without -o. Give the model file with -o."
        )
    return [files[0]], files[1]


def check_alike(sources):
    """Raise CommandError if files differ in format, or if one of several is standard input."""
    first = sources[0]
    for source in sources:
        if source.path == "-" and len(sources) > 1:
            raise CommandError(
                "-: standard input cannot be one of several files. Give it alone, or write it to a file."
            )
        if source.kind != first.kind:
            raise CommandError(
                f"{source.path}: all files must have the format of {first.path}, {first.kind}. Got "
                f"{source.kind}. Leave it out, or give --format if its extension is wrong."
            )
        if source.kind == "csv" and source.delimiter != first.delimiter:
            raise CommandError(
                f"{source.path}: all files must have the delimiter of {first.path}, "
                f"{first.delimiter!r}. Got {source.delimiter!r}. Leave it out, or give --delimiter."
            )


def reason_to_stream(sources, is_asked, may_stream):
    """Return the reason for streaming files, as a str; None: they are read into memory."""
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
                f"streamed, because {reason}."
            )
    return reason


def _size_of(source):
    """Return the most bytes of memory that a file takes, and the obstacle to streaming it, if any."""
    if source.path == "-":
        return 0, "standard input, which can be read only once"
    try:
        status = os.stat(source.path)
        if not stat.S_ISREG(status.st_mode):
            return 0, "not a regular file"
        with open(source.path, "rb") as file:
            first_bytes = file.read(max(map(len, COMPRESSED)))
            file.seek(-min(4, status.st_size), os.SEEK_END)
            last_bytes = file.read()
    except OSError as error:
        raise unreadable(f"{source.path}: cannot be read: {error.strerror or error}") from error
    module = next((name for magic, name in COMPRESSED.items() if first_bytes.startswith(magic)), None)
    if module is not None:
        # A gzip file ends with the length of its last member, modulo 2**32.
        length = int.from_bytes(last_bytes, "little") if module == "gzip" else 0
        size = max(COMPRESSION * status.st_size, length)
        return BYTES_OF_TEXT * size, "compressed. Decompress it"
    if source.kind == "parquet":
        return status.st_size + BYTES_OF_VALUE * _n_values(source.path), None
    return BYTES_OF_TEXT * status.st_size, None


def _n_values(path):
    """Return rows times columns of a Parquet file; 0 if it is damaged, which reading it reports."""
    try:
        from pyarrow import parquet

        metadata = parquet.read_metadata(path)
        return metadata.num_rows * metadata.num_columns
    except Exception:  # pyarrow's errors have many types
        return 0
