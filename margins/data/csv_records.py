"""CSV read by pandas; the csv module finds the place of what is malformed."""

import csv
import io
import itertools
import re

import numpy as np

from margins.data.malformed import MalformedFile
from margins.data.table_values import MISSING

# A field of a record. A quote within one that does not begin with a quote is a character like another.
FIELD = re.compile(r'(?:"[^"]*(?:""[^"]*)*(?:"|\Z))?[^,\r\n]*')


def read_csv(contents, path, texts, columns=None):
    """A table: pandas.DataFrame.

    Parameters
    ----------
    contents : bytes
    path : str
        The name of the file in errors.
    texts : set of str
        The columns that are read as text, as it is written.
    columns : list of str, optional
        The columns to read; None: all. Only then every row that is too long is found.

    Raises
    ------
    MalformedFile
        If the file is not text, or names or rows are not as they should be.
    ValueError
        If pandas reads no table, for another reason.
    """
    import pandas

    check_encoding(contents, path)
    names = check_header(contents, path)
    first = [len(fields) for _, _, fields in itertools.islice(records_of(contents, path), 2)]
    if len(set(first)) > 1:  # from a first row that is too long, pandas would take names of rows
        check_lengths(contents, path)
    options = {"encoding": "utf-8-sig", "keep_default_na": False}
    try:
        table = pandas.read_csv(
            io.BytesIO(contents),
            usecols=columns,
            dtype=dict.fromkeys(texts, str),
            na_values={name: MISSING for name in names if name not in texts},
            low_memory=False,  # else the type of a column depends on where its texts are
            **options,
        )
        # Of whole numbers beyond 64 bits pandas makes integers, and takes 1_0 for 10.
        changed = [name for name in table if name not in texts and table[name].dtype == np.dtype("O")]
        if changed:
            table[changed] = pandas.read_csv(io.BytesIO(contents), usecols=changed, dtype=str, **options)
    except ValueError as error:
        check_lengths(contents, path)
        raise ValueError(f"is no CSV file: {error}") from error
    if any((table[name] == "").any() for name in texts if name in table):
        check_lengths(contents, path)  # of a row that is too short, pandas makes empty texts
    return table


def check_encoding(contents, path):
    """Raise MalformedFile where a file is not text."""
    position = contents.find(b"\0")
    if position < 0 and contents.isascii():  # in a tenth of the time of the decoder
        return
    try:
        contents[: None if position < 0 else position].decode("utf-8-sig")
    except UnicodeDecodeError as error:
        position = error.start
    if position >= 0:
        before = contents[:position]
        line = before.count(b"\n") + 1
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8-sig", "replace")) + 1
        raise MalformedFile(
            path, line, column, f"must be text in UTF-8. Got the byte {contents[position]:#04x}."
        )


def records_of(contents, path):
    """(line of its beginning, raw text, fields) of every record that is not blank."""
    lines = io.TextIOWrapper(io.BytesIO(contents), encoding="utf-8-sig", newline="")
    kept = []

    def keeping():
        for line in lines:
            kept.append(line)
            yield line

    line = 1
    try:
        for fields in csv.reader(keeping()):
            text = "".join(kept)
            if text.strip(" \t\r\n"):  # pandas skips blanks alone, too
                yield line, text, fields
            line += len(kept)
            kept.clear()
    except csv.Error as error:  # such as a quote that is not closed
        raise MalformedFile(path, line, 1, f"is no row of CSV: {error}.") from error


def names_of(header):
    """The names of columns, as pandas makes them of a header: list of str."""
    return [name or f"Unnamed: {position}" for position, name in enumerate(header)]


def place_of(line, text, field):
    """Line and column of a field of a record; of one that it does not have, those of its end."""
    begin = 0
    for _ in range(field):
        end = FIELD.match(text, begin).end()
        if not text.startswith(",", end):
            begin = len(text.rstrip("\r\n"))
            break
        begin = end + 1
    before = text[:begin]
    return line + before.count("\n"), len(before) - before.rfind("\n")


def check_header(contents, path):
    """The names of columns: list of str. MalformedFile if two columns have one name."""
    line, text, header = next(records_of(contents, path), (1, "", []))
    names = names_of(header)
    for position, name in enumerate(names):
        if name in names[:position]:
            raise MalformedFile(
                path,
                *place_of(line, text, position),
                f"every column must have a name of its own. Got {name!r} for columns "
                f"{names.index(name) + 1} and {position + 1}.",
            )
    return names


def check_lengths(contents, path):
    """Raise MalformedFile at the first record that is not as long as the header."""
    n_fields = None
    for line, text, fields in records_of(contents, path):
        if n_fields is None:
            n_fields = len(fields)
        elif len(fields) != n_fields:
            place = place_of(line, text, min(n_fields, len(fields)))
            raise MalformedFile(
                path, *place, f"a row must have {n_fields} fields, as the header. Got {len(fields)}."
            )


def malformed_field(contents, path, error):
    """The error of the first field that a WrongValue says is wrong: MalformedFile."""
    header, *records = records_of(contents, path)
    index = names_of(header[2]).index(error.column)
    wrong = (record for record in records if error.is_wrong(record[2][index]))
    line, text, fields = next(wrong, records[error.row])
    got = repr(fields[index]) if fields[index] else "an empty field"
    problem = f"{error.allowed}. Got {got}.{error.hint}"
    return MalformedFile(path, *place_of(line, text, index), problem)
