"""The benchmark of pairs: a line for every setting, and the median of their ratios."""

import benchmark_pairs as script
import numpy as np


def test_every_setting_has_a_line(capsys):
    ratios = script.main(["--data", "iris", "--C", "1", "--repeats", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert len(ratios) == len(lines) - 1 == 3 * 2 * 2
    assert all(line.startswith("iris") for line in lines[:-1])
    assert lines[-1] == f"median ratio of 12 settings: {np.median(ratios):.2f}"
