"""The callbacks of the package: bars, and an end by validation data."""

import io
import pickle
import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import margins
from margins.callbacks import EarlyStopping, ProgressBar

pytest.importorskip("sklearn.callback")
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def data(n_classes=2, m=300, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(m, 5))
    scores = X[:, 0] + 0.8 * generator.normal(size=m)
    return X, np.array(["a", "b", "c"])[np.digitize(scores, [0] if n_classes == 2 else [-0.5, 0.5])]


def bars_of(text):
    """(description, last count) of every bar that was drawn."""
    found = re.findall(r"(?:^|[\r\n]|\x1b\[[A-Z])([\w, '\-]+): (\d+) epochs", text)
    return {name.strip(): int(count) for name, count in found}


class KeepsModels:
    """Keeps the model of every epoch."""

    def __init__(self):
        self.models = []

    def setup(self, *args, **kwargs):
        pass

    teardown = on_fit_task_begin = setup

    def on_fit_task_end(self, estimator, context):
        task = getattr(context, "epoch_task", None)
        if task is not None:
            self.models.append(task.model())


@pytest.mark.parametrize("name", ["perceptron", "averaged-perceptron", "voted-perceptron", "pa-i"])
def test_a_model_of_an_epoch_goes_on_from_this_epoch(name):
    X, y = data(m=60)
    keeps = KeepsModels()
    whole = margins.get(name)(random_state=1, max_iter=4).set_callbacks(keeps).fit(X, y == "b")
    alone = margins.get(name)(random_state=1, max_iter=1).fit(X, y == "b")
    for model in (keeps.models[0], alone):
        model.partial_fit(X[:20], y[:20] == "b")
    np.testing.assert_array_equal(keeps.models[0].decision_function(X), alone.decision_function(X))
    assert keeps.models[0].n_updates_ == alone.n_updates_ < whole.n_updates_


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_every_class_has_a_bar_that_counts_its_epochs(n_jobs):
    X, y = data(3)
    file = io.StringIO()
    classifier = margins.get("pdm")(C=1, eps=0.1, random_state=0, n_jobs=n_jobs)
    classifier.set_callbacks(ProgressBar(file=file)).fit(X, y)
    bars = bars_of(file.getvalue())
    assert set(bars) == {f"pdm, class '{label}'" for label in "abc"}
    expected = [len(curve) for curve in classifier.learning_curve_]
    assert [bars[f"pdm, class '{label}'"] for label in "abc"] == expected
    assert "gap" in file.getvalue()


def test_two_classes_have_one_bar_and_the_fit_is_the_same():
    X, y = data()
    file = io.StringIO()
    alone = margins.MarginClassifier(random_state=0).fit(X, y)
    watched = clone(alone).set_callbacks(ProgressBar(leave=False, file=file)).fit(X, y)
    assert list(bars_of(file.getvalue())) == ["MarginClassifier"]
    np.testing.assert_array_equal(watched.coef_, alone.coef_)


def test_bars_are_closed_and_not_pickled():
    X, y = data()
    callback = ProgressBar(file=io.StringIO())
    margins.get("pdm")(random_state=0).set_callbacks(callback).fit(X, y)
    assert callback._bars == {}
    assert pickle.loads(pickle.dumps(ProgressBar(leave=False))).leave is False


def test_a_fit_ends_when_the_score_has_ceased_to_rise():
    X, y = data()
    callback = EarlyStopping(*data(seed=1), patience=3)
    classifier = margins.get("mpu")(eps=1e-6, random_state=0).set_callbacks(callback)
    with pytest.warns(ConvergenceWarning, match="a callback stopped it"):
        classifier.fit(X, y)
    (scores,) = callback.scores_.values()
    assert list(callback.scores_) == ["b"] and len(scores) == classifier.n_iter_ < 500
    best = int(np.argmax(scores))
    assert len(scores) - 1 - best == 3
    assert scores[-1] == classifier.score(*data(seed=1))


def test_each_class_ends_for_itself_and_is_scored_against_the_rest():
    X, y = data(3)
    points, labels = data(3, seed=1)
    callback = EarlyStopping(points, labels, patience=2)
    classifier = margins.get("pam")(max_iter=300, random_state=0).set_callbacks(callback).fit(X, y)
    assert sorted(callback.scores_) == ["a", "b", "c"]
    scores = classifier.decision_function(points)
    for index, label in enumerate("abc"):
        assert len(callback.scores_[label]) == len(classifier.learning_curve_[index]) < 300
        accuracy = np.mean((scores[:, index] > 0) == (labels == label))
        assert callback.scores_[label][-1] == pytest.approx(accuracy)


def test_a_fit_that_proves_its_accuracy_first_is_not_ended():
    X, y = data()
    callback = EarlyStopping(X, y, patience=1000)
    classifier = margins.MarginClassifier(random_state=0).set_callbacks(callback).fit(X, y)
    assert classifier.converged_


def test_kernels_and_other_scores_are_scored():
    X, y = data()
    callback = EarlyStopping(*data(seed=1), patience=2, scoring="roc_auc")
    margins.MarginClassifier(kernel="rbf", random_state=0).set_callbacks(callback).fit(X, y)
    assert all(0.5 < score <= 1 for score in callback.scores_["b"])


def test_scores_are_of_the_last_fit_alone():
    X, y = data()
    callback = EarlyStopping(*data(seed=1), patience=2)
    classifier = margins.get("pam")(max_iter=50, random_state=0).set_callbacks(callback)
    first = classifier.fit(X, y).n_iter_
    assert len(callback.scores_["b"]) == first
    assert len(callback.scores_["b"]) == classifier.fit(X, y).n_iter_


@pytest.mark.parametrize("wrong", [{"patience": 0}, {"min_delta": -1}])
def test_bad_parameters_are_errors(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} of EarlyStopping must be"):
        EarlyStopping([[1.0]], [1], **wrong)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1, 2], r"y of EarlyStopping must hold classes of the fit, \['a', 'b', 'c'\]. Got 0"),
        (["A", "b", "c"], r"classes of the fit, \['a', 'b', 'c'\]. Got 'A'"),
        (["a", "bb", "c"], r"classes of the fit, \['a', 'b', 'c'\]. Got 'bb'"),
        ([b"a", b"b", b"c"], r"y of EarlyStopping must hold numbers or str. Got bytes"),
    ],
)
def test_labels_outside_of_the_classes_are_refused_before_training(labels, message):
    X, y = data(3)
    epochs = []
    with pytest.raises(ValueError, match=message):
        callback = EarlyStopping(X[:3], labels)
        callback.on_fit_task_end = lambda estimator, context: epochs.append(context)
        margins.get("pam")(random_state=0).set_callbacks(callback).fit(X, y)
    assert not epochs


def test_as_many_labels_as_rows_are_needed():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        EarlyStopping(data()[0], data()[1][:9])


def test_lines_of_progress_name_the_class(capsys):
    X, y = data(3)
    margins.get("pdm")(C=1, eps=0.1, random_state=0, verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert {line.split(": epoch")[0] for line in lines} == {f"pdm: class '{label}'" for label in "abc"}
    margins.get("pdm")(C=1, eps=0.1, random_state=0, verbose=1).fit(*data())
    assert all(line.startswith("pdm: epoch") for line in capsys.readouterr().out.splitlines())
