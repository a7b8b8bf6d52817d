"""Models that do not fit into memory are refused before any training, with their size."""

import resource

import numpy as np
import pytest
from scipy import sparse

import margins
from margins.linalg import memory


def wide(n_classes=3, n_features=1_000_000):
    X = sparse.random_array((4 * n_classes, n_features), density=1e-5, format="csr", rng=0)
    return X, np.arange(4 * n_classes) % n_classes


@pytest.fixture
def nothing_negligible(monkeypatch):
    monkeypatch.setattr(memory, "NEGLIGIBLE", 0)


@pytest.mark.parametrize(
    "call",
    [
        lambda X, y: margins.MarginClassifier().fit(X, y),
        lambda X, y: margins.get("perceptron")().fit(X, y),
        lambda X, y: margins.get("pa-i")().partial_fit(X, y, classes=[0, 1, 2]),
        lambda X, y: margins.MarginClassifierCV(cv=2).fit(X, y),
        lambda X, y: margins.svm_path(X, y, Cs=3),
        lambda X, y: margins.MarginClassifier().fit(margins.data.chunks.Chunks([lambda: (X, y)]), None),
    ],
    ids=["auto", "perceptron", "partial_fit", "CV", "path", "chunks"],
)
def test_a_model_that_does_not_fit_is_refused_before_training(call, monkeypatch, nothing_negligible):
    X, y = wide()
    monkeypatch.setattr(memory, "available_bytes", lambda: 40_000_000)
    monkeypatch.setattr("margins.solvers.driver.Run.train", None)
    with pytest.raises(
        MemoryError, match=r"3 x 1000000 weights take 0\.0 GB.*Got 0\.0 GB of free memory"
    ):
        call(X, y)


def test_a_path_needs_memory_for_all_its_models(monkeypatch, nothing_negligible):
    X, y = wide(n_features=10_000)
    monkeypatch.setattr(memory, "available_bytes", lambda: 1_000_000)
    with pytest.raises(MemoryError, match="svm_path"):
        margins.svm_path(X, y, Cs=3)
    assert margins.MarginClassifier().fit(X, y).converged_


def test_what_fits_or_is_not_known_is_trained(monkeypatch, nothing_negligible):
    X, y = wide(n_features=1000)
    for available in (None, 10**9):
        monkeypatch.setattr(memory, "available_bytes", lambda available=available: available)
        assert margins.MarginClassifier().fit(X, y).converged_


def test_1000_classes_of_a_million_features_state_their_size(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 10 * 10**9)
    with pytest.raises(
        MemoryError,
        match=r"fit must.* 1000 x 1000000 weights take 8\.0 GB.*at least 2 times.*Got 10\.0 GB",
    ):
        margins.MarginClassifier().fit(*wide(n_classes=1000))


def test_memory_of_the_machine_and_of_its_groups(tmp_path, monkeypatch):
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:       8 kB\n")
    (tmp_path / "cgroup").write_text("5:cpu:/\n4:memory:/job/1\n0::/service/part\n")
    monkeypatch.setattr(memory, "MEMORY_INFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "GROUPS_OF_PROCESS", tmp_path / "cgroup")
    monkeypatch.setattr(memory, "GROUPS", tmp_path / "groups")
    monkeypatch.setattr(memory, "_left_in_limit", lambda: None)
    assert memory.available_bytes() == 8192
    for folder, files in {
        "service": {"memory.max": "7000", "memory.current": "1000"},
        "service/part": {"memory.max": "max", "memory.current": "500"},
        "memory/job/1": {"memory.limit_in_bytes": "7000", "memory.usage_in_bytes": "500"},
    }.items():
        (tmp_path / "groups" / folder).mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (tmp_path / "groups" / folder / name).write_text(text)
    assert memory.available_bytes() == 6000
    (tmp_path / "groups/service/part/memory.max").write_text("400")
    assert memory.available_bytes() == 0
    for path in ("meminfo", "cgroup"):
        (tmp_path / path).unlink()
    assert memory.available_bytes() > 10**8  # what the machine has


def test_a_limit_of_address_space_counts(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda what: (10**15, 10**15))
    assert 0 < memory._left_in_limit() < 10**15
    monkeypatch.setattr(resource, "getrlimit", lambda what: (resource.RLIM_INFINITY,) * 2)
    assert memory._left_in_limit() is None
