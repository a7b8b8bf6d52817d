"""Files of samples, and a command line that is run in this process."""

import json
from typing import NamedTuple

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from margins.cli.app import main


class Result(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def run(capsys):
    """``run("train", path, ...)`` runs a command: Result."""

    def command(*arguments):
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        return Result(code, *capsys.readouterr())

    return command


def write_svmlight(path, X, y):
    dump_svmlight_file(X, y, str(path), zero_based=False)


def samples(n_classes=2, m=60, seed=0):
    generator = np.random.default_rng(seed)
    X = np.round(generator.normal(size=(m, 4)), 3)
    scores = X[:, 0] + 0.2 * generator.normal(size=m)
    y = np.where(scores > 0, 1, -1) if n_classes == 2 else np.digitize(scores, [-0.5, 0.5])
    return X, y


@pytest.fixture
def train_file(tmp_path):
    path = tmp_path / "train.svm"
    write_svmlight(path, *samples())
    return path


@pytest.fixture
def test_file(tmp_path):
    path = tmp_path / "test.svm"
    write_svmlight(path, *samples(seed=1))
    return path


TABLE = """size,colour,shop,bought
1.5,red,a,yes
2.5,blue,a,no
0.5,red,b,yes
3.5,blue,b,no
1.0,green,a,yes
3.0,"blue",b,no
"""


@pytest.fixture
def table_file(tmp_path):
    path = tmp_path / "train.csv"
    path.write_text(TABLE)
    return path
