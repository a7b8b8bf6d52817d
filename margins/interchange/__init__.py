"""Export of fitted classifiers to scikit-learn and ONNX; certificates of models of other programs.

`to_onnx` and `register_converters` need the extra `onnx`.
"""

from margins.estimators.svms import to_sklearn
from margins.interchange.certification import Certification
from margins.interchange.onnx import register_converters, to_onnx

__all__ = ["Certification", "register_converters", "to_onnx", "to_sklearn"]
