"""`margins export`: a model file in ONNX."""

import numpy as np
import pytest
from cli.conftest import samples

from margins.persistence import load

pytest.importorskip("skl2onnx")
onnxruntime = pytest.importorskip("onnxruntime")


@pytest.mark.parametrize("more", [(), ("--double",)])
def test_an_exported_model_predicts_what_the_model_file_does(run, train_file, tmp_path, more):
    model, exported = tmp_path / "m.skops", tmp_path / "m.onnx"
    run("train", train_file, model, "--scale")
    result = run("export", model, exported, *more)
    X, _ = samples(seed=1)
    assert (result.code, result.out) == (0, "")
    assert f"{exported}: {exported.stat().st_size} bytes, input X with 4 columns" in result.err
    dtype = np.float64 if more else np.float32
    session = onnxruntime.InferenceSession(exported.read_bytes())
    labels, scores = session.run(None, {"X": X.astype(dtype)})
    assert scores.dtype == dtype
    np.testing.assert_array_equal(labels, load(model).predict(X))
    assert run("export", model, exported, "--quiet").err == ""


def test_a_model_without_a_form_in_onnx_is_refused_and_nothing_is_written(run, train_file, tmp_path):
    model, exported = tmp_path / "m.skops", tmp_path / "m.onnx"
    run("train", train_file, model, "-a", "voted-perceptron")
    result = run("export", model, exported)
    assert result.code == 3
    assert "cannot be written in ONNX: classifier of to_onnx must have a weight vector" in result.err
    assert not exported.exists()


def test_a_folder_that_is_not_there_is_refused_before_the_model_is_read(run, tmp_path):
    result = run("export", tmp_path / "m.skops", tmp_path / "none" / "m.onnx")
    assert result.code == 3 and "none" in result.err
