"""Tables whose columns are not separated by commas."""

import pytest

from margins.data.chunks import Chunks

DELIMITERS = {"tab": "\t", "\\t": "\t", ";": ";", "|": "|", "space": " ", ":": ":"}


def table(delimiter, n=40):
    """A table with numbers, categories, one of which contains the delimiter, and labels."""
    lines = [delimiter.join(("size", "colour", "label"))]
    for k in range(n):
        colour = f'"dark{delimiter} {"" if k % 2 else "a"}red\n{k % 3}"'
        lines.append(delimiter.join((str(k * 0.37 % 5), colour, "yes" if k % 5 > 2 else "no")))
    return "\n".join(lines) + "\n"


def options(delimiter=None):
    given = () if delimiter is None else ("--delimiter", delimiter)
    return ("--target", "label", "--categorical", "colour", *given)


@pytest.mark.parametrize("given", DELIMITERS)
def test_every_command_reads_what_commas_separate(run, tmp_path, given):
    delimiter = DELIMITERS[given]
    path, by_commas = tmp_path / "t.txt", tmp_path / "t.csv"
    path.write_text(table(delimiter))
    by_commas.write_text(table(","))
    model, expected = tmp_path / "a.skops", tmp_path / "b.skops"
    report = run("train", path, model, "--json", *options(given)).json
    certificates = run("train", by_commas, expected, "--json", *options()).json["certificates"]
    assert report["certificates"] == certificates and report["n_samples"] == 40
    predicted = run("predict", model, path, "--delimiter", given).out
    assert predicted == run("predict", expected, by_commas).out and predicted.count("\n") == 40
    for command in (
        ("evaluate", model, path, "--target", "label", "--delimiter", given),
        ("explain", path, *options(given)),
        ("study", path, *options(given), "-g", "C=1", "--outer", "2", "--inner", "2"),
    ):
        assert run(*command).code == 0


def test_the_extension_tsv_means_tabs(run, tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text(table("\t"))
    report = run("train", path, tmp_path / "a.skops", "--json", *options()).json
    streamed = run("train", path, "-o", tmp_path / "b.skops", "--json", "--stream", *options()).json
    assert report["n_samples"] == streamed["n_samples"] == 40
    assert report["n_features"] == streamed["n_features"] == 2
    by_commas = tmp_path / "t.csv"
    by_commas.write_text(table(","))
    result = run("train", path, by_commas, "-o", tmp_path / "c.skops", *options())
    assert result.code == 2 and r"must have the delimiter of" in result.err


def test_errors_have_the_place_in_the_file(run, tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text("a\tb\tlabel\n1\t2\tx\n\n\t\t\n1\t2\ty\n")
    for more in ((), ("--stream",)):
        result = run("train", path, "-o", tmp_path / "m.skops", "--target", "label", *more)
        assert result.code > 0 and f"{path}:4:" in result.err and "an empty field" in result.err
    path.write_text("a\tb\tlabel\n1\t2\tx\n1\t2,5\ty\n1\t2\n")
    result = run("train", path, tmp_path / "m.skops", "--target", "label")
    assert f"{path}:4:4: a row must have 3 fields, like the header. Got 2." in result.err


@pytest.mark.parametrize("found", [";", "\t", "|"])
def test_a_file_with_another_delimiter_is_named(run, tmp_path, found):
    path = tmp_path / "t.csv"
    hint = f"If {found!r} separates the columns, set the delimiter to it."
    path.write_text(found.join(("a", "b", "label")) + "\n" + found.join("12x") + "\n")
    for more in ((), ("--stream",)):
        result = run("train", path, "-o", tmp_path / "m.skops", "--target", "label", *more)
        assert result.code > 0 and "there is no column 'label'" in result.err and hint in result.err
    with pytest.raises(ValueError, match=r"no column 'label'.* set the delimiter to it\."):
        Chunks.from_csv(path, "label")
    path.write_text(found.join(("a", "b", "label")) + "\n" + found.join(("1,5", "2,5", "x")) + "\n")
    result = run("train", path, tmp_path / "m.skops", "--target", "label")
    assert "a row must have 1 fields" in result.err and hint in result.err
    path.write_text("a,label\n1,x\n")
    result = run("train", path, tmp_path / "m.skops", "--target", "label", "--delimiter", found)
    assert "If ',' separates the columns" in result.err
    result = run("train", path, tmp_path / "m.skops", "--target", "b")
    assert "no column 'b'" in result.err and "delimiter" not in result.err


@pytest.mark.parametrize("wrong", ["", ";;", "a", "1", '"', "-", ".", "é", "\n"])
def test_what_cannot_separate_columns_is_refused(run, tmp_path, wrong):
    path = tmp_path / "t.csv"
    path.write_text(table(","))
    result = run("train", path, tmp_path / "m.skops", "--delimiter", wrong, *options())
    assert result.code == 2 and "--delimiter must be one ASCII character" in result.err
    with pytest.raises(ValueError, match=r"delimiter of Chunks.from_csv must be one ASCII character"):
        Chunks.from_csv(path, "label", delimiter=wrong)


@pytest.mark.parametrize("kind", ["svmlight", "parquet"])
def test_other_formats_take_no_delimiter(run, tmp_path, train_file, kind):
    given = ("--format", kind, "--delimiter", ";", *(("--target", "y") if kind == "parquet" else ()))
    result = run("train", train_file, tmp_path / "m.skops", *given)
    assert result.code == 2 and f"--delimiter is for CSV, but this file is read as {kind}" in result.err
