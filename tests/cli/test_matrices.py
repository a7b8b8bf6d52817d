"""Matrices and ARFF: read by NumPy, SciPy and anndata, with labels in the file or in another."""

import gzip

import numpy as np
import pytest
from cli.conftest import samples
from scipy import sparse
from scipy.io import mmwrite

from margins.persistence import load

X, Y = samples(n_classes=3)
X[X < -1] = 0


def written(folder, kind):
    """Write the samples in a format: path, value of --target."""
    path, labels = folder / f"X.{kind}", folder / "y.npy"
    np.save(labels, Y)
    if kind == "npy":
        np.save(path, X)
    elif kind == "mtx.gz":
        mmwrite(folder / "X.mtx", sparse.coo_array(X))
        path.write_bytes(gzip.compress((folder / "X.mtx").read_bytes()))
        labels = folder / "y.txt"
        labels.write_text("".join(f"{label}\n" for label in Y))
    elif kind == "sparse.npz":
        sparse.save_npz(path, sparse.csc_array(X))
    elif kind == "npz":
        np.savez(path, X=X, y=Y.astype(float))
        labels = "y"
    else:
        anndata = pytest.importorskip("anndata")
        names = list(map(str, range(len(Y))))
        obs = pytest.importorskip("pandas").DataFrame({"cell": Y.astype(str)}, index=names)
        anndata.AnnData(sparse.csr_matrix(X), obs=obs).write_h5ad(path)
        labels = "cell"
    return path, labels


@pytest.mark.filterwarnings("ignore")  # of anndata
@pytest.mark.parametrize("kind", ["npy", "mtx.gz", "sparse.npz", "npz", "h5ad"])
def test_a_matrix_gives_the_model_of_its_array(run, tmp_path, kind):
    import margins

    path, labels = written(tmp_path, kind)
    model, text = tmp_path / "m.skops", tmp_path / "m"
    expected = margins.MarginClassifier(random_state=0).fit(X, Y)
    for name in (model, text):
        assert run("train", path, name, "--target", labels, "-q") == (0, "", "")
    np.testing.assert_allclose(load(model).coef_, expected.coef_, rtol=1e-6)
    assert load(model).classes_.tolist() == [0, 1, 2]
    for name in (model, text):
        assert run("predict", name, path).out.split() == list(map(str, expected.predict(X)))
        result = run("evaluate", name, path, "--target", labels, "--json").json
        assert result["accuracy"] == expected.score(X, Y)
    assert run("certify", text, path, "--target", labels, "-C", "1").code == 0
    assert run("explain", path, "--target", labels).code == 0


def test_several_matrices_and_float32(run, tmp_path):
    for number, rows in enumerate((slice(0, 20), slice(20, 60))):
        np.savez(tmp_path / f"{number}.npz", X=X[rows].astype(np.float32), y=Y[rows])
    paths = [tmp_path / "0.npz", tmp_path / "1.npz"]
    assert run("train", *paths, "-o", tmp_path / "m.skops", "--target", "y").code == 0
    assert (
        run("evaluate", tmp_path / "m.skops", *paths, "--target", "y", "--json").json["n_samples"] == 60
    )
    result = run("train", *paths, "-o", tmp_path / "m.skops", "--target", "y", "--stream")
    assert result.code == 3 and "cannot be streamed: it is a matrix" in result.err
    np.savez(tmp_path / "2.npz", X=X[:, :3], y=Y)
    for command in (
        ("train", *paths, tmp_path / "2.npz", "-o", tmp_path / "n"),
        ("evaluate", tmp_path / "m.skops", tmp_path / "2.npz"),
    ):
        result = run(*command, "--target", "y")
        assert result.code == 3 and "2.npz: must have 4 columns, as" in result.err


@pytest.mark.parametrize(
    ("arrays", "target", "code", "problem"),
    [
        ({"X": X, "y": Y}, "z", 2, "there are no labels 'z'. It has 'y'"),
        ({"A": X, "y": Y}, "y", 3, "one of its arrays must be called X. Got A, y"),
        ({"X": X[0], "y": Y}, "y", 3, r"must hold numbers, rows x columns. Got float64, shape (4,)"),
        ({"X": X.astype(str), "y": Y}, "y", 3, "must hold numbers, rows x columns. Got <U"),
        ({"X": X, "y": Y[1:]}, "y", 3, "must have 60 labels, one for each row. Got 59"),
        ({"X": X, "y": Y + 0.5}, "y", 3, "row 0: the label 'y' must be a whole number or text"),
        ({"X": X * np.nan, "y": Y}, "y", 3, "Input X contains NaN"),
        ({"X": X}, "none", 3, "none: cannot be read"),
        ({"X": X}, None, 2, "a matrix needs --target"),
    ],
)
def test_wrong_matrices_are_errors(run, tmp_path, arrays, target, code, problem):
    path = tmp_path / "X.npz"
    np.savez(path, **arrays)
    result = run("train", path, tmp_path / "m", *(("--target", target) if target else ()))
    assert result.code == code and problem in result.err


@pytest.mark.parametrize("name", ["X.npy", "X.npz", "X.mtx"])
def test_damaged_matrices_are_errors(run, tmp_path, name):
    (tmp_path / name).write_bytes(b"PK damaged" if name.endswith("z") else b"what is this")
    result = run("train", tmp_path / name, tmp_path / "m", "--target", "y")
    assert result.code == 3 and f"{name}: cannot be read as a matrix: " in result.err


ARFF = """@relation r
@attribute size numeric
@attribute colour {red, blue}
@attribute bought {yes, no}
@data
1.5,red,yes
2.5,blue,no
0.5,?,yes
3.5,blue,no
"""


def test_arff_is_a_table(run, tmp_path):
    pytest.importorskip("pyarrow")
    path, model = tmp_path / "t.arff", tmp_path / "m.skops"
    path.write_text(ARFF)
    options = ("--target", "bought", "--categorical", "colour")
    assert run("train", path, model, "-q", *options).code == 0
    assert run("predict", model, path).out.split() == ["yes", "no", "yes", "no"]
    result = run("train", path, model, "--target", "bought")
    assert (
        result.code == 3 and "t.arff: row 0: 'colour' must be a finite number. Got 'red'" in result.err
    )
    path.write_text(ARFF.replace("numeric", "string"))
    result = run("train", path, model, *options)
    assert (
        result.code == 3
        and "String attributes not supported yet, sorry. Convert it to CSV" in result.err
    )
