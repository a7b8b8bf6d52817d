"""LIBSVM's precomputed kernels, `0:i 1:K(x, x_1) ...`, with --kernel precomputed."""

import numpy as np
import pytest

import margins

rng = np.random.default_rng(0)
X, T = rng.normal(size=(20, 3)), rng.normal(size=(6, 3))
Y = np.where(X[:, 0] + 0.5 * rng.normal(size=20) > 0, 1, -1)


def kernel(A):
    return np.exp(-((A[:, None] - X) ** 2).sum(axis=2))


def write(path, K, y, numbers=None):
    """Write kernel values as LIBSVM reads them."""
    rows = zip(y, numbers or range(1, len(K) + 1), K, strict=True)
    texts = (
        f"{label} 0:{number} " + " ".join(f"{j}:{value!r}" for j, value in enumerate(row, 1))
        for label, number, row in rows
    )
    path.write_text("\n".join(texts) + "\n")
    return path


@pytest.mark.parametrize("name", ["m.skops", "m"])
def test_models_of_kernel_values_predict_kernel_values(run, tmp_path, name):
    model, train = tmp_path / name, write(tmp_path / "train", kernel(X).tolist(), Y)
    test = write(tmp_path / "test", kernel(T).tolist(), [0] * 6, [7] * 6)
    assert run("train", train, model, "--kernel", "precomputed", "--eps", "1e-6", "-q").code == 0
    expected = margins.MarginClassifier(kernel="precomputed", eps=1e-6, random_state=0).fit(kernel(X), Y)
    assert run("predict", model, test).out.split() == list(map(str, expected.predict(kernel(T))))
    result = run("evaluate", model, train, "--json").json
    assert result["accuracy"] == expected.score(kernel(X), Y)
    certified = run("certify", model, train, "-C", "1", "--loss", "squared_hinge", "--json").json
    assert certified["certificates"][0]["gap"] < 1e-4
    path = run("path", train, "--test", train, "--kernel", "precomputed", "--points", "2", "--json").json
    assert [row["accuracy"] for row in path] == [row["test_accuracy"] for row in path]


def test_a_model_of_svm_train(run, tmp_path):
    model = tmp_path / "model"
    model.write_text(
        "svm_type c_svc\nkernel_type precomputed\nnr_class 2\ntotal_sv 2\nrho 0\nlabel 1 -1\n"
        "nr_sv 1 1\nSV\n1 0:1\n-1 0:2\n"
    )
    test = write(tmp_path / "test", [[2.0, 1.0, 7.0], [1.0, 2.0, 7.0]], [1, -1])
    assert run("predict", model, test).out == "1\n-1\n"


def test_rows_without_numbers_and_of_other_lengths_are_errors(run, tmp_path):
    K, model = kernel(X).tolist(), tmp_path / "m.skops"
    train = write(tmp_path / "train", K, Y)
    assert run("train", train, model, "--kernel", "precomputed", "-q").code == 0
    result = run("train", train, tmp_path / "n")
    assert result.code == 3 and "or --kernel precomputed if 0:i numbers the samples" in result.err
    result = run("predict", model, write(tmp_path / "test", kernel(T)[:, :5].tolist(), [1] * 6))
    assert result.code == 3 and "must have the kernel values of 20 training samples" in result.err
    write(train, K, Y, [*range(1, 20), 7])
    result = run("train", train, tmp_path / "n", "--kernel", "precomputed")
    assert result.code == 3 and "must be numbered from 1. Got 0:7 for sample 20" in result.err
    train.write_text("1 1:1 2:0.5\n-1 1:0.5 2:1\n")
    result = run("train", train, tmp_path / "n", "--kernel", "precomputed")
    assert result.code == 3 and "must start with 0:i, its number" in result.err
