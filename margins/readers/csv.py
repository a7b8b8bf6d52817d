"""Reads CSV by pandas, and finds the place of malformed records by the csv module.

The delimiter of columns is a comma or another character, such as a tab or a semicolon.
"""

import csv
import functools
import io
import itertools
import re

import numpy as np

from margins.readers.malformed import MalformedFile
from margins.readers.values import MISSING

# A field of a record. In a field that does not start with a quote, quotes are ordinary characters.
FIELD = r'(?:"[^"]*(?:""[^"]*)*(?:"|\Z))?[^%s\r\n]*'
USUAL_DELIMITERS = ",;\t|"


@functools.cache
def _field(delimiter):
    """Return the pattern of a field of a record."""
    return re.compile(FIELD % re.escape(delimiter))


def check_delimiter(delimiter, name):
    """Raise a ValueError unless a delimiter is a character that neither numbers nor names contain."""
    allowed = isinstance(delimiter, str) and len(delimiter) == 1 and delimiter.isascii()
    if not allowed or delimiter.isalnum() or delimiter in "\"'+-._\r\n\0":
        raise ValueError(
            f"{name} must be one ASCII character other than letters, digits, quotes, '+', '-', '.', '_' "
            f"and line ends. Got {delimiter!r}."
        )


def hint_of_delimiter(names):
    """Return a sentence about the delimiter if the only column name contains one, otherwise ""."""
    found = [each for each in USUAL_DELIMITERS if len(names) == 1 and each in names[0]]
    return f" If {found[0]!r} separates the columns, set the delimiter to it." if found else ""


def read_csv(contents, path, texts, columns=None, delimiter=","):
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
    delimiter : str

    Raises
    ------
    MalformedFile
        If the file is not text, or if its names or rows are malformed.
    ValueError
        If pandas cannot read a table, for another reason.
    """
    import pandas

    check_encoding(contents, path)
    names = check_header(contents, path, delimiter)
    first = [len(fields) for _, _, fields in itertools.islice(records_of(contents, path, delimiter), 2)]
    if len(set(first)) > 1:  # pandas would take the row names from a first row that is too long
        check_lengths(contents, path, delimiter)
    options = {"sep": delimiter, "encoding": "utf-8-sig", "keep_default_na": False}
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
        check_lengths(contents, path, delimiter)
        raise ValueError(f"is not a valid CSV file: {error}") from error
    if any((table[name] == "").any() for name in texts if name in table):
        # pandas turns the missing fields of a short row into empty texts
        check_lengths(contents, path, delimiter)
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


def records_of(contents, path, delimiter):
    """Yield (first line number, raw text, fields) of every record that is not blank."""
    lines = io.TextIOWrapper(io.BytesIO(contents), encoding="utf-8-sig", newline="")
    record_lines = []

    def recorded_lines():
        for line in lines:
            record_lines.append(line)
            yield line

    number, blanks = 1, " \t\r\n".replace(delimiter, "")
    try:
        for fields in csv.reader(recorded_lines(), delimiter=delimiter):
            text = "".join(record_lines)
            if text.strip(blanks):  # pandas, too, skips records of blanks
                yield number, text, fields
            number += len(record_lines)
            record_lines.clear()
    except csv.Error as error:  # such as a quote that is not closed
        raise MalformedFile(path, number, 1, f"is not a valid row of CSV: {error}.") from error


def names_of(header):
    """Return the column names that pandas makes from a header (list of str)."""
    return [name or f"Unnamed: {position}" for position, name in enumerate(header)]


def place_of(line, text, field, delimiter):
    """Return the line and column of a field of a record, or of its end if it has no such field."""
    start = 0
    for _ in range(field):
        end = _field(delimiter).match(text, start).end()
        if not text.startswith(delimiter, end):
            start = len(text.rstrip("\r\n"))
            break
        start = end + 1
    before = text[:start]
    return line + before.count("\n"), len(before) - before.rfind("\n")


def check_header(contents, path, delimiter):
    """Return the column names (list of str); raise a MalformedFile if two columns have the same name."""
    line, text, header = next(records_of(contents, path, delimiter), (1, "", []))
    names = names_of(header)
    for position, name in enumerate(names):
        if name in names[:position]:
            raise MalformedFile(
                path,
                *place_of(line, text, position, delimiter),
                f"every column must have a different name. Got {name!r} for columns "
                f"{names.index(name) + 1} and {position + 1}.",
            )
    return names


def check_lengths(contents, path, delimiter):
    """Raise a MalformedFile at the first record with another number of fields than the header."""
    header = None
    for line, text, fields in records_of(contents, path, delimiter):
        if header is None:
            header = fields
        elif len(fields) != len(header):
            place = place_of(line, text, min(len(header), len(fields)), delimiter)
            problem = f"a row must have {len(header)} fields, like the header. Got {len(fields)}."
            raise MalformedFile(path, *place, problem + hint_of_delimiter(header))


def malformed_field(contents, path, error, delimiter):
    """Return the MalformedFile for the first field that a WrongValue rejects."""
    header, *records = records_of(contents, path, delimiter)
    index = names_of(header[2]).index(error.column)
    wrong = (record for record in records if error.is_wrong(record[2][index]))
    line, text, fields = next(wrong, records[error.row])
    got = repr(fields[index]) if fields[index] else "an empty field"
    problem = f"{error.allowed}. Got {got}.{error.hint}"
    return MalformedFile(path, *place_of(line, text, index, delimiter), problem)
