"""Results depend neither on the number of jobs nor on the backend, and data travel once."""

import io
import pickle
import sys

import joblib
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import SGDClassifier

import margins
from margins.model_selection import Stages, double_cross_validation, engine, running
from margins.model_selection.tasks import MIN_TASKS, MIN_TASKS_IN_LOCKSTEP, shares

X, y = load_breast_cancer(return_X_y=True)
X, y = X[:200] / X.max(axis=0), y[:200]
GRIDS = {
    "pam": Stages({"tau": [0, 0.5, 1]}, {"alpha_bound": [5, 10]}),
    "sgd": {"alpha": [1e-4, 1e-2], "penalty": ["l1", "l2"]},
}


def study_of(name="pam", **options):
    estimator = margins.get("pam")(max_iter=5) if name == "pam" else SGDClassifier(max_iter=5, tol=None)
    options = {"outer": 3, "inner": 3, "random_state": 4} | options
    return double_cross_validation(estimator, GRIDS[name], X, y, **options)


@pytest.fixture(scope="module")
def expected():
    return {name: study_of(name) for name in GRIDS}


@pytest.mark.parametrize("name", GRIDS)
def test_threads_do_not_change_results(name, expected):
    assert study_of(name, n_jobs=2) == expected[name]
    with joblib.parallel_config("threading", n_jobs=3):
        assert study_of(name) == expected[name]


@pytest.mark.slow
def test_processes_do_not_change_results(expected):
    with joblib.parallel_config("loky", n_jobs=2):
        for name in GRIDS:
            assert study_of(name) == expected[name]


@pytest.mark.filterwarnings("ignore")  # of dask and of what it stands on
@pytest.mark.parametrize(
    "processes", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["threads", "processes"]
)
def test_dask_does_not_change_results_and_sends_data_once_for_each_stage(
    processes, expected, monkeypatch
):
    distributed = pytest.importorskip("distributed")
    sent = []
    scatter = distributed.Client.scatter
    monkeypatch.setattr(
        distributed.Client,
        "scatter",
        lambda *args, **kw: sent.append(type(args[1])) or scatter(*args, **kw),
    )
    options = {"dashboard_address": "127.0.0.1:0", "protocol": "tcp"}  # so that data are pickled
    cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=processes, **options)
    with cluster, distributed.Client(cluster), joblib.parallel_config("dask"):
        study = study_of()
    assert study == expected["pam"]
    assert [kind.__name__ for kind in sent] == ["Shared"] * 3  # one for each stage, one for the end


@pytest.mark.filterwarnings("ignore")  # of dask and of what it stands on
def test_data_are_never_sent_to_all_workers_at_once(expected, monkeypatch):
    # The scheduler would wait for ever for one that is lost meanwhile, and keep its lock.
    distributed = pytest.importorskip("distributed")

    async def replicate(self, *args, **options):
        raise AssertionError("replicate")

    monkeypatch.setattr(distributed.Scheduler, "replicate", replicate)
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
    )
    with cluster, distributed.Client(cluster), joblib.parallel_config("dask"):
        assert study_of() == expected["pam"]


def test_order_of_completion_does_not_matter(expected, monkeypatch):
    class Backwards:
        def __init__(self, *args, **options):
            pass

        def __call__(self, jobs):
            return iter([function(*args, **kw) for function, args, kw in list(jobs)][::-1])

    monkeypatch.setattr(running, "Parallel", Backwards)
    assert study_of("sgd") == expected["sgd"]


class PicklerOfTasks(pickle.Pickler):
    """A pickler that leaves out the data that tasks share."""

    def __init__(self, file, shared):
        super().__init__(file)
        self.shared = shared

    def persistent_id(self, value):
        return "shared" if value is self.shared else None


def test_a_task_without_its_data_is_small(monkeypatch):
    sizes = []

    def measured(tasks, shared, **options):
        whole = len(pickle.dumps(shared))
        assert sys.getsizeof(shared) > 1000  # dask scatters by this
        for number, task in enumerate(tasks):
            stream = io.BytesIO()
            PicklerOfTasks(stream, shared).dump(joblib.delayed(running.run)(shared, number, task))
            sizes.append((stream.tell(), whole))
        return run_all(tasks, shared, **options)

    run_all = engine.run_all
    monkeypatch.setattr(engine, "run_all", measured)
    study_of()
    assert len(sizes) == 9 * 2 + 9 * 2 + 3  # in lockstep: two shares of settings to a fold
    assert max(task for task, _ in sizes) < 500 < min(whole for _, whole in sizes) / 50


@pytest.mark.parametrize(("n_settings", "n_splits"), [(1, 1), (3, 1000), (49, 1), (49, 3), (49, 100)])
def test_chunks_keep_the_order_and_are_many_enough(n_settings, n_splits):
    settings = list(range(n_settings))
    for route, enough in (("alone", MIN_TASKS), ("lockstep", MIN_TASKS_IN_LOCKSTEP)):
        parts = shares(settings, n_splits, route)
        assert [each for part in parts for each in part] == settings and all(parts)
        assert len(parts) * n_splits >= min(enough, n_settings * n_splits)
        assert max(map(len, parts)) - min(map(len, parts)) <= 1
    assert shares(settings, n_splits, "path") == [settings]


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("stream", "progress", "shown"),
    [
        (Terminal(), None, True),
        (io.StringIO(), None, False),
        (Terminal(), False, False),
        (io.StringIO(), True, True),
    ],
    ids=["terminal", "file", "rejected", "wanted"],
)
def test_progress_is_shown_on_terminals(stream, progress, shown, monkeypatch):
    pytest.importorskip("tqdm")
    monkeypatch.setattr(sys, "stderr", stream)
    study_of(progress=progress)
    total = 9 * (3 + 2) + 3
    assert (f"{total}/{total}" in stream.getvalue()) == shown == bool(stream.getvalue())


def test_progress_does_without_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    study_of()
    assert not stream.getvalue()
    with pytest.raises(ImportError):
        study_of(progress=True)
