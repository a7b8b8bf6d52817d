"""The picture of ratios: which points a file of results has."""

import json

import draw_ratios
import pytest

LINEAR = [
    {"solver": "auto", "reached": True, "cpu_seconds": 1.0},
    {"solver": "LinearSVC", "reached": True, "cpu_seconds": 8.0},
    {"solver": "LinearSVC, primal", "reached": True, "cpu_seconds": 4.0},
    {"solver": "Snap ML", "reached": False, "cpu_seconds": 2.0},
]
KERNELS = {"data": "usps", "C": 100.0, "SVC": 2.0, "gap SVC": 0.1, "0.001": 0.25, "gap 0.001": 1e-4}


def test_points_are_ratios_to_the_better_method_of_each_other_side(tmp_path):
    files = [tmp_path / "linear.json", tmp_path / "kernels.json"]
    reports = {"data_sets": [{"data": "a9a", "tasks": [{"rows": LINEAR}]}]}, [KERNELS | {"Intel": 0.0}]
    for file, contents in zip(files, reports, strict=True):
        file.write_text(json.dumps(contents), encoding="utf-8")
    pytest.importorskip("matplotlib")
    points = draw_ratios.main([*map(str, files), "--figure", str(tmp_path / "ratios.png")])
    assert points == [
        ("a9a, linear", "LinearSVC", 0.25),
        ("a9a, linear", "Snap ML", None),
        ("usps, rbf, C=100", "SVC at its default tol", 0.25),
        ("usps, rbf, C=100", "SVC of Intel", None),
    ]
    assert (tmp_path / "ratios.png").stat().st_size > 1000
