"""Reads Parquet; an error says which part of a damaged file cannot be read."""


def checked(table):
    """Return a pyarrow table after checking that text is UTF-8 and arrays have their stated lengths."""
    table.validate(full=True)
    return table


def column_of(file, group, name):
    """Return a column of a row group of a ParquetFile, checked (pandas.Series).

    Raises
    ------
    ValueError
        If the column is damaged.
    """
    n_rows = file.metadata.row_group(group).num_rows
    try:
        # One thread is enough: other threads read other row groups.
        table = checked(file.read_row_group(group, columns=[name], use_threads=False))
        if table.num_rows != n_rows:
            raise ValueError(f"{table.num_rows} values for {n_rows} rows")
        return table.column(0).to_pandas().rename(name)
    except Exception as error:  # pyarrow raises errors of many types
        problem = f"row group {group}, column {name!r} is damaged: {first_line(error)}"
        raise ValueError(problem) from error


def damage_of(source):
    """Return the part of a Parquet file, a path or a binary file, that cannot be read (str)."""
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(source)
        schema, n_groups = file.schema_arrow, file.num_row_groups
        names = schema.names
    except Exception as error:  # pyarrow raises errors of many types
        return f"is not a Parquet file, or its footer is damaged: {first_line(error)}"
    with file:
        try:
            _ = schema.pandas_metadata
        except ValueError:
            return "its pandas metadata is damaged"
        for group in range(n_groups):
            for name in names:
                try:
                    column_of(file, group, name)
                except ValueError as error:
                    return str(error)
    return "its pandas metadata is damaged"


def first_line(error):
    """Return the type of an error and the first line of its message (str)."""
    return f"{type(error).__name__}: {error}".splitlines()[0]
