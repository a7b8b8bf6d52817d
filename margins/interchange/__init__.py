"""Classifiers of and for other programs: scikit-learn, ONNX, C, LIBLINEAR, LIBSVM; certificates of any.

`to_onnx`, `onnx_difference` and `register_converters` need the extra `onnx`.
"""

from margins.estimators.svms import to_sklearn
from margins.interchange.c_source import to_c
from margins.interchange.certification import Certification
from margins.interchange.libsvm import dump_libsvm, load_libsvm
from margins.interchange.onnx import register_converters, to_onnx
from margins.interchange.rounding import OnnxDifference, onnx_difference

__all__ = [
    "Certification",
    "OnnxDifference",
    "dump_libsvm",
    "load_libsvm",
    "onnx_difference",
    "register_converters",
    "to_c",
    "to_onnx",
    "to_sklearn",
]
