"""CSV, read as text by pyarrow; after an error, the csv module finds its place."""

import csv
import functools
import io
import itertools
import re
from typing import ClassVar, NamedTuple

from margins.readers.files import TEXT_BYTES, bytes_of, check_not_empty, n_lines_before, ranges_of_lines
from margins.readers.malformed import MalformedFile
from margins.readers.values import MISSING, Column

# A field of a record. In a field that does not start with a quote, quotes are ordinary characters.
FIELD = r'(?:"[^"]*(?:""[^"]*)*(?:"|\Z))?[^%s\r\n]*'
USUAL_DELIMITERS = ",;\t|"
BLOCK_BYTES = 1 << 20  # read at once, unless a row is longer
END = "\0"  # the fields of a last row, which shows that no quote before it is open


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


class CsvTable:
    """Rows of a CSV file, in its contents after `begin`, after `lines_before()` lines of the file."""

    missing = MISSING
    widths: ClassVar[dict[str, int]] = {}  # as in Parquet: fields are no vectors

    def __init__(self, path, names, delimiter, contents, begin=0, lines_before=lambda: 0, columns=None):
        self.path, self.names, self._delimiter = path, names, delimiter
        self._rows, self._lines_before = memoryview(contents)[begin:], lines_before
        self._first_line = contents.count(b"\n", 0, begin) + 1
        # Rows of blanks are skipped, unless they may be the value of the only column.
        self._blanks = " \t\r\n".replace(delimiter, "") if len(names) > 1 else "\r\n"
        try:
            check_encoding(contents, path)
            self._table = self._read(names if columns is None else columns, BLOCK_BYTES)
        except MalformedFile as error:
            raise error.moved(lines_before()) from None

    def __len__(self):
        return len(self._table)

    def column(self, name):
        return Column(name, self._table.column(name))

    def located(self, error):
        """Return the MalformedFile for a WrongValue, with its place."""
        record = next(itertools.islice(self._records(), error.row, None))
        field = self.names.index(error.column)
        return self._malformed(record, field, str(error)).moved(self._lines_before())

    def _read(self, columns, block_bytes):
        """Return a pyarrow table of text."""
        import pyarrow
        from pyarrow import csv as reader

        end = self._delimiter.join([END] * len(self.names)).encode()
        # A byte order mark after the first byte is text.
        rows = b"".join((b"\n", self._rows, b"\n", end))
        try:
            table = reader.read_csv(
                pyarrow.BufferReader(rows),
                reader.ReadOptions(use_threads=False, block_size=block_bytes, column_names=self.names),
                reader.ParseOptions(
                    delimiter=self._delimiter,
                    newlines_in_values=True,
                    invalid_row_handler=lambda row: "error" if row.text.strip(self._blanks) else "skip",
                ),
                reader.ConvertOptions(
                    include_columns=columns,
                    column_types=dict.fromkeys(columns, pyarrow.string()),
                    check_utf8=False,
                ),
            )
        except pyarrow.ArrowInvalid as error:
            self._check_records()
            if block_bytes < len(rows):  # a row may be longer than a block
                return self._read(columns, min(len(rows), 2**31 - 1))
            raise ValueError(f"{self.path}: is not a valid CSV file: {error}") from error
        if table.column(0)[-1].as_py() != END:
            self._check_records()
            [*_, record] = self._records()
            problem = "a field that starts with a quote must end with one."
            raise self._malformed(record, len(self.names) - 1, problem)
        return table.slice(0, len(table) - 1)

    def _records(self):
        file = io.BytesIO(self._rows)
        for record in records_of(file, self.path, self._delimiter, self._first_line):
            if record[1].strip(self._blanks):
                yield record

    def _check_records(self):
        """Raise a MalformedFile at the first row with another number of fields than the header."""
        n = len(self.names)
        for record in self._records():
            if (found := len(record[2])) != n:
                problem = f"a row must have {n} fields, like the header. Got {found}."
                problem += hint_of_delimiter(self.names)
                raise self._malformed(record, min(n, found), problem)

    def _malformed(self, record, field, problem):
        line, text, _ = record
        return MalformedFile(self.path, *place_of(line, text, field, self._delimiter), problem)


class LinesOfCsv(NamedTuple):
    """Reader of the lines in a byte range of a CSV file, as a CsvTable."""

    path: str
    names: list[str]
    delimiter: str
    begin: int
    end: int
    widths: dict[str, int] = {}  # as in Parquet: fields are no vectors

    def __call__(self, columns=None):
        lines = bytes_of(self.path, self.begin, self.end)
        lines_before = functools.partial(n_lines_before, self.path, self.begin)
        return CsvTable(self.path, self.names, self.delimiter, lines, 0, lines_before, columns)


def lines_of_csv(paths, delimiter=",", n_bytes=TEXT_BYTES):
    """Divide CSV files with a header into parts of about `n_bytes` (list of LinesOfCsv)."""
    check_delimiter(delimiter, "delimiter of Chunks.from_csv")
    parts = []
    for path in paths:
        with open(path, "rb") as file:
            names, begin = header_of(file, path, delimiter)
        parts += [
            LinesOfCsv(path, names, delimiter, *ends)
            for ends in ranges_of_lines(path, n_bytes, begin, delimiter)
        ]
    check_not_empty(parts, paths, "Chunks.from_csv")
    return parts


def header_of(file, path, delimiter):
    """Return the names of the columns of a CSV file open as bytes, and the position of its rows."""
    mark = b"\xef\xbb\xbf"
    size = len(mark) if file.read(len(mark)) == mark else 0
    file.seek(size)
    for line, text, names in records_of(file, path, delimiter):
        contents = text.encode(errors="surrogateescape")
        check_encoding(contents, path, line)
        size += len(contents)
        if names and text.strip():
            break
    else:
        raise MalformedFile(path, 1, 1, "must start with a header, the names of the columns. Got none.")
    names = [name or f"Unnamed: {position}" for position, name in enumerate(names)]
    if len(set(names)) < len(names):
        position = next(k for k, name in enumerate(names) if name in names[:k])
        place, first = place_of(line, text, position, delimiter), names.index(names[position])
        problem = f"Got {names[position]!r} for columns {first + 1} and {position + 1}."
        raise MalformedFile(path, *place, f"every column must have a different name. {problem}")
    return names, size


def note_of_index(path):
    """Return the warning that the first column of a CSV file has no name (str)."""
    advice = "If it is the index of a data frame, write the file by to_csv(index=False)"
    return f"{path}: the first column has no name and becomes a feature. {advice}."


def check_encoding(contents, path, line=1):
    """Raise a MalformedFile at the first place where bytes from the start of a line are not text."""
    position = contents.find(b"\0")
    if position < 0 and contents.isascii():  # takes a tenth of the decoder's time
        return
    try:
        contents[: None if position < 0 else position].decode()
    except UnicodeDecodeError as error:
        position = error.start
    if position >= 0:
        before = contents[:position]
        column = len(before[before.rfind(b"\n") + 1 :].decode(errors="replace")) + 1
        problem = f"must be text in UTF-8. Got the byte {contents[position]:#04x}."
        raise MalformedFile(path, line + before.count(b"\n"), column, problem)


def records_of(file, path, delimiter, number=1):
    """Yield (number of the first line, text, fields) of every record of CSV in a file open as bytes."""
    lines = io.TextIOWrapper(file, "utf-8", errors="surrogateescape", newline="")
    record_lines = []

    def recorded_lines():
        for line in lines:
            record_lines.append(line)
            yield line

    try:
        for fields in csv.reader(recorded_lines(), delimiter=delimiter):
            yield number, "".join(record_lines), fields
            number += len(record_lines)
            record_lines.clear()
    except csv.Error as error:  # such as a long field, because its quote is not closed
        raise MalformedFile(path, number, 1, f"is not a valid row of CSV: {error}.") from error
    finally:
        lines.detach()  # otherwise it closes the file


def place_of(line, text, field, delimiter):
    """Return the line and column of a field of a record, or of its end if it has no such field."""
    pattern, start = re.compile(FIELD % re.escape(delimiter)), 0
    for _ in range(field):
        end = pattern.match(text, start).end()
        if not text.startswith(delimiter, end):
            start = len(text.rstrip("\r\n"))
            break
        start = end + 1
    before = text[:start]
    return line + before.count("\n"), len(before) - before.rfind("\n")
