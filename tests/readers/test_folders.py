"""A folder as Spark and dask write it: one data set, for Chunks and for the shell."""

import json

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from margins.cli.app import main
from margins.data.chunks import Chunks

rng = np.random.default_rng(0)
X = rng.integers(-5, 5, (33, 2)).astype(float)
Y = (X[:, 0] > 0).astype(int)


@pytest.fixture(params=["svm", "csv", "parquet"])
def folder(request, tmp_path):
    """A folder of eleven parts of three rows, and the options for its format."""
    folder, kind = tmp_path / "set", request.param
    folder.mkdir()
    for name in ("_SUCCESS", "_metadata", ".part-0.crc"):
        (folder / name).write_text("not data")
    for number in range(11):
        rows, path = slice(3 * number, 3 * number + 3), folder / f"part.{number}.{kind}"
        if kind == "svm":
            dump_svmlight_file(X[rows], Y[rows], str(path), zero_based=False)
        else:
            frame = (
                pytest.importorskip("pandas").DataFrame(X[rows], columns=["a", "b"]).assign(y=Y[rows])
            )
            pytest.importorskip("pyarrow")
            frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
    (folder / "part.11.svm").write_text("")  # as Spark writes an empty part
    return folder, () if kind == "svm" else ("--target", "y")


def test_chunks_of_a_folder_are_its_parts_in_the_order_of_their_numbers(folder):
    path, options = folder
    read = getattr(Chunks, {"svm": "from_svmlight"}.get(kind := path_kind(path), f"from_{kind}"))
    chunks = read(path, **({"target": "y"} if options else {}))
    assert len(chunks) == 11
    found = np.vstack([part.toarray() if kind == "svm" else part for part, _ in chunks])
    assert (found == X).all()


def path_kind(folder):
    return next(folder.glob("part.0.*")).suffix[1:]


@pytest.mark.parametrize("more", [(), ("--stream", "-o", "m.skops")])
def test_every_command_reads_a_folder(folder, tmp_path, monkeypatch, capsys, more):
    (path, options), model = folder, "m.skops"
    monkeypatch.chdir(tmp_path)
    assert main(["train", f"{path}/", *(more or [model]), "-q", *options]) == 0
    assert main(["evaluate", model, str(path), "--json", *options]) == 0
    assert json.loads(capsys.readouterr().out)["n_samples"] == 33
    assert main(["predict", model, str(path), "p.txt", "-q", *options]) == 0
    assert len((tmp_path / "p.txt").read_text().split()) == 33
    assert main(["path", str(path), "--test", str(path), "--points", "2", "--json", *options]) == 0
    for row in json.loads(capsys.readouterr().out):
        assert row["test_accuracy"] == row["accuracy"]


def test_a_folder_without_data_or_with_folders_is_an_error(tmp_path, capsys):
    (tmp_path / "_SUCCESS").write_text("")
    with pytest.raises(ValueError, match="must hold a file that is not empty. Got none"):
        Chunks.from_svmlight(tmp_path)
    (tmp_path / "year=2024").mkdir()
    with pytest.raises(ValueError, match="must hold only files. Got the folder .*year=2024"):
        Chunks.from_svmlight(tmp_path)
    assert main(["train", str(tmp_path), "model"]) == 3
    assert "must hold only files" in capsys.readouterr().err
    (tmp_path / "_delta_log").mkdir()
    with pytest.raises(ValueError, match="is a Delta table"):
        Chunks.from_svmlight(tmp_path)
