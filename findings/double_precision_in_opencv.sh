#!/usr/bin/env bash
# OpenCV 5.0.0 dnn: a valid ONNX graph in double precision gives wrong numbers without a word, or an error, depending on
# which of the two fields of a TensorProto holds the same numbers.
#
# A linear model, float -> Cast -> MatMul and Add in double, is what converters write to keep double precision. If its
# weights are in double_data, dnn reads the bytes of each double as something else: scores are far off, here even infinite. If the same
# weights are in raw_data, the model is refused. onnx's evaluator gives the same right scores for both. In float32 all is
# well.
#
# Seen with Python 3.13:
#   float32: largest error 1e-07
#   double, double_data: largest error inf
#   double, raw_data: error
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet opencv-python-headless==5.0.0.93 onnx==1.23.2 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import cv2
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

print("OpenCV", cv2.__version__, "onnx", onnx.__version__)
rng = np.random.default_rng(0)
W, b, X = rng.normal(size=(4, 3)), rng.normal(size=3), rng.normal(size=(5, 4)).astype(np.float32)


def graph(kind, in_raw_data):
    dtype = {TensorProto.FLOAT: np.float32, TensorProto.DOUBLE: np.float64}[kind]
    if in_raw_data:
        weights = [numpy_helper.from_array(v.astype(dtype), n) for v, n in ((W, "W"), (b, "b"))]
    else:
        weights = [helper.make_tensor(n, kind, v.shape, v.ravel().tolist()) for v, n in ((W, "W"), (b, "b"))]
    nodes = [
        helper.make_node("Cast", ["X"], ["x"], to=kind),
        helper.make_node("MatMul", ["x", "W"], ["p"]),
        helper.make_node("Add", ["p", "b"], ["s"]),
        helper.make_node("Cast", ["s"], ["scores"], to=TensorProto.FLOAT),
    ]
    sizes = [("X", [None, 4]), ("scores", [None, 3])]
    ends = [[helper.make_tensor_value_info(n, TensorProto.FLOAT, shape)] for n, shape in sizes]
    model = helper.make_model(
        helper.make_graph(nodes, "linear", *ends, weights), opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    )
    onnx.checker.check_model(model, full_check=True)
    [exact] = ReferenceEvaluator(model).run(None, {"X": X})
    assert np.allclose(exact, X @ W + b, atol=1e-6)
    return model


def error_of(model):
    try:
        net = cv2.dnn.readNetFromONNX(np.frombuffer(model.SerializeToString(), np.uint8))
        net.setInput(X, "X")
        return np.abs(net.forward() - (X @ W + b)).max()
    except cv2.error:
        return None


errors = {
    "float32": error_of(graph(TensorProto.FLOAT, False)),
    "double, double_data": error_of(graph(TensorProto.DOUBLE, False)),
    "double, raw_data": error_of(graph(TensorProto.DOUBLE, True)),
}
for name, error in errors.items():
    print(f"{name}:", "error" if error is None else f"largest error {error:.0e}")
single, listed, raw = errors.values()
assert single < 1e-5 and listed is not None and listed > 1 and raw is None, "this has changed"
PYTHON
