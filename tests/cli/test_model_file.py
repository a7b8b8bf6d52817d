"""Model files written without skops are files of skops."""

import io
import json
import zipfile

import numpy as np
import pytest

from margins.certificate import Certificate
from margins.cli.model_file import Instance, written
from margins.solvers.history import Epoch

skops_io = pytest.importorskip("skops.io")


def reread(value):
    contents = written(value)
    return skops_io.loads(contents, trusted=skops_io.get_untrusted_types(data=contents))


def test_values_come_back_as_skops_reads_them():
    certificate = Certificate.from_bounds(2.0, 1.5, 3)
    value = {
        "numbers": [1, 0.1, 1e-300, float("inf"), True, None],
        "text": "é [x]",
        "nested": {"a": (1, "b"), "c": []},
        "records": [certificate, Epoch(1, 2, 3, certificate), Epoch(1, 2, 3, None)],
    }
    assert reread(value) == value


@pytest.mark.parametrize("array", [np.arange(6.0).reshape(2, 3), np.array([-1, 1]), np.zeros((0, 2))])
def test_arrays_come_back(array):
    found = reread({"a": array, "b": array})
    np.testing.assert_array_equal(found["a"], array)
    assert found["a"].dtype == array.dtype and found["b"].shape == array.shape


def test_the_schema_is_that_of_skops():
    value = {"a": [1, 0.5], "b": (np.zeros(2), "text"), "c": Certificate.from_bounds(2.0, 1.5, 3)}

    def schema(contents):
        with zipfile.ZipFile(io.BytesIO(contents)) as archive:
            return json.loads(archive.read("schema.json"))

    def without_names(node):
        if isinstance(node, dict):
            dropped = ("__id__", "file", "_skops_version")
            return {key: without_names(each) for key, each in node.items() if key not in dropped}
        return [without_names(each) for each in node] if isinstance(node, list) else node

    assert without_names(schema(written(value))) == without_names(schema(skops_io.dumps(value)))


def test_what_the_format_has_not_is_an_error():
    with pytest.raises(TypeError, match="A model file has no set"):
        written({"a": {1}})
    assert reread([Instance("margins.kernels.functions.linear", "Linear", None)])[0].name == "linear"
