"""Export of fitted classifiers to scikit-learn's LinearSVC and SVC, and to ONNX.

`to_onnx` and `register_converters` need the extra `onnx`.
"""

from margins.estimators.svms import to_sklearn
from margins.interchange.onnx import register_converters, to_onnx

__all__ = ["register_converters", "to_onnx", "to_sklearn"]
