"""`margins export MODEL OUTPUT.c`."""

import pytest

from margins.interchange import load_libsvm, to_c


@pytest.fixture
def model(run, train_file, tmp_path):
    """A model file that needs no other package."""
    path = tmp_path / "m.model"
    assert run("train", train_file, path).code == 0
    return path


def test_a_c_file_is_that_of_to_c_and_replaces_only_one(run, model, train_file, tmp_path):
    output = tmp_path / "m.c"
    result = run("export", model, output, train_file, "--weights", "int16")
    assert (result.code, result.out) == (0, "")
    assert result.err == f"{output}: {output.stat().st_size} bytes, input x with 4 columns\n"
    assert "none of the labels of the 60 samples" in output.read_text()
    assert run("export", model, output, "-q").err == ""
    assert output.read_text() == to_c(load_libsvm(model))
    output.write_text("int main(void) { return 0; }")
    result = run("export", model, output)
    assert result.code == 3 and "is not a C file of `export`" in result.err


def test_labels_that_may_change_are_an_error(run, model, tmp_path):
    data, output = tmp_path / "d.svm", tmp_path / "m.c"
    w, b = load_libsvm(model).coef_[0, 0], load_libsvm(model).intercept_[0]
    data.write_text(f"1 1:{float(-b / w)!r}\n-1 1:{float((-50 - b) / w)!r}\n")
    result = run("export", model, output, data, "--weights", "int8")
    assert result.code == 3 and not output.exists()
    assert "cannot be written in C: weights of to_c" in result.err and "up to 1 of 2" in result.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("m.c", "--double"), "--double is for ONNX"),
        (("m.onnx", "--weights", "int8"), "Integers and DATA are for C"),
        (("m.onnx", "d.svm"), "Integers and DATA are for C"),
        (("m.c", "--zero-based"), "Options for reading DATA need DATA"),
    ],
)
def test_an_option_without_effect_is_an_error(run, options, message):
    result = run("export", "m.model", *options)
    assert result.code == 2 and message in result.err


def test_graphs_of_float_weights_hold_no_doubles(run, model, tmp_path):
    pytest.importorskip("skl2onnx")
    onnx, output = pytest.importorskip("onnx"), tmp_path / "m.onnx"
    assert run("export", model, output, "--weights", "float").code == 0
    kinds = {tensor.data_type for tensor in onnx.load(output).graph.initializer}
    assert onnx.TensorProto.FLOAT in kinds and onnx.TensorProto.DOUBLE not in kinds
    result = run("export", model, tmp_path / "n.onnx", "--weights", "float", "--double")
    assert result.code == 3 and "must be float64. Got 'float32'" in result.err
