"""Reads CSV by pandas, and finds the place of malformed records by the csv module."""

import csv
import io
import itertools
import re

import numpy as np

from margins.data.malformed import MalformedFile
from margins.data.table_values import MISSING

# A field of a record. In a field that does not start with a quote, quotes are ordinary characters.
FIELD = re.compile(r'(?:"[^"]*(?:""[^"]*)*(?:"|\Z))?[^,\r\n]*')


def read_csv(contents, path, texts, columns=None):
    """Read a table (pandas.DataFrame).

    Parameters
    ----------
    contents : bytes
    path : str
        Name of the file, for errors.
    texts : set of str
        Columns to read as text, as written.
    columns : list of str, optional
        Columns to read; None: all, which is the only way to detect every row that is too long.

    Raises
    ------
    MalformedFile
        If the file is not text, or if its names or rows are malformed.
    ValueError
        If pandas cannot read a table, for another reason.
    """
    import pandas

    check_encoding(contents, path)
    names = check_header(contents, path)
    first = [len(fields) for _, _, fields in itertools.islice(records_of(contents, path), 2)]
    if len(set(first)) > 1:  # pandas would take the row names from a first row that is too long
        check_lengths(contents, path)
    options = {"encoding": "utf-8-sig", "keep_default_na": False}
    try:
        table = pandas.read_csv(
            io.BytesIO(contents),
            usecols=columns,
            dtype=dict.fromkeys(texts, str),
            na_values={name: MISSING for name in names if name not in texts},
            low_memory=False,  # otherwise the type of a column depends on the rows of its texts
            **options,
        )
        # Read these as text: pandas makes integers of whole numbers beyond 64 bits, and reads 1_0 as 10.
        changed = [name for name in table if name not in texts and table[name].dtype == np.dtype("O")]
        if changed:
            table[changed] = pandas.read_csv(io.BytesIO(contents), usecols=changed, dtype=str, **options)
    except ValueError as error:
        check_lengths(contents, path)
        raise ValueError(f"is not a valid CSV file: {error}") from error
    if any((table[name] == "").any() for name in texts if name in table):
        check_lengths(contents, path)  # pandas turns the missing fields of a short row into empty texts
    return table


def check_encoding(contents, path):
    """Raise a MalformedFile at the first place where a file is not text."""
    position = contents.find(b"\0")
    if position < 0 and contents.isascii():  # takes a tenth of the decoder's time
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
    """Yield (first line number, raw text, fields) of every record that is not blank."""
    lines = io.TextIOWrapper(io.BytesIO(contents), encoding="utf-8-sig", newline="")
    record_lines = []

    def recorded_lines():
        for line in lines:
            record_lines.append(line)
            yield line

    number = 1
    try:
        for fields in csv.reader(recorded_lines()):
            text = "".join(record_lines)
            if text.strip(" \t\r\n"):  # pandas, too, skips records of blanks
                yield number, text, fields
            number += len(record_lines)
            record_lines.clear()
    except csv.Error as error:  # such as a quote that is not closed
        raise MalformedFile(path, number, 1, f"is not a valid row of CSV: {error}.") from error


def names_of(header):
    """Return the column names that pandas makes from a header (list of str)."""
    return [name or f"Unnamed: {position}" for position, name in enumerate(header)]


def place_of(line, text, field):
    """Return the line and column of a field of a record, or of its end if it has no such field."""
    start = 0
    for _ in range(field):
        end = FIELD.match(text, start).end()
        if not text.startswith(",", end):
            start = len(text.rstrip("\r\n"))
            break
        start = end + 1
    before = text[:start]
    return line + before.count("\n"), len(before) - before.rfind("\n")


def check_header(contents, path):
    """Return the column names (list of str); raise a MalformedFile if two columns have the same name."""
    line, text, header = next(records_of(contents, path), (1, "", []))
    names = names_of(header)
    for position, name in enumerate(names):
        if name in names[:position]:
            raise MalformedFile(
                path,
                *place_of(line, text, position),
                f"every column must have a different name. Got {name!r} for columns "
                f"{names.index(name) + 1} and {position + 1}.",
            )
    return names


def check_lengths(contents, path):
    """Raise a MalformedFile at the first record with another number of fields than the header."""
    n_fields = None
    for line, text, fields in records_of(contents, path):
        if n_fields is None:
            n_fields = len(fields)
        elif len(fields) != n_fields:
            place = place_of(line, text, min(n_fields, len(fields)))
            raise MalformedFile(
                path, *place, f"a row must have {n_fields} fields, like the header. Got {len(fields)}."
            )


def malformed_field(contents, path, error):
    """Return the MalformedFile for the first field that a WrongValue rejects."""
    header, *records = records_of(contents, path)
    index = names_of(header[2]).index(error.column)
    wrong = (record for record in records if error.is_wrong(record[2][index]))
    line, text, fields = next(wrong, records[error.row])
    got = repr(fields[index]) if fields[index] else "an empty field"
    problem = f"{error.allowed}. Got {got}.{error.hint}"
    return MalformedFile(path, *place_of(line, text, index), problem)
