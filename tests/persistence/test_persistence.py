"""Model files: every algorithm comes back as it was, and no file makes anything else, or crashes."""

import io
import pickle
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import margins
from margins.estimators.votes import GrowingArray
from margins.persistence import dump, files, load

skops_io = pytest.importorskip("skops.io")

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def samples(n_classes=2):
    X = np.random.default_rng(0).normal(size=(40, 3))
    return X, np.where(X[:, 0] > 0, "a", "b") if n_classes == 2 else np.arange(40) % n_classes


def make(name, kernel="linear", **params):
    if name == "pfm":
        params["gamma"] = 0.01
        kernel = {"rbf": "precomputed"}.get(kernel, kernel)
    return margins.get(name)(random_state=0, max_iter=20, kernel=kernel, **params)


def written(classifier):
    file = io.BytesIO()
    dump(classifier, file)
    return file.getvalue()


def reread(classifier):
    return load(io.BytesIO(written(classifier)))


def assert_same(found, expected, X):
    assert type(found) is type(expected)
    assert found.get_params() == expected.get_params()
    assert_array_equal(found.classes_, expected.classes_)
    assert_array_equal(found.decision_function(X), expected.decision_function(X))
    assert_array_equal(found.predict(X), expected.predict(X))
    assert found.certificates_ == expected.certificates_
    assert found.learning_curve_ == expected.learning_curve_
    assert found.phases_ == expected.phases_


def kernels_of(name):
    return ["linear"] if name in ("alma", "second-order-perceptron") else ["linear", "rbf"]


@pytest.mark.parametrize(
    ("name", "kernel"), [(name, kernel) for name in margins.available() for kernel in kernels_of(name)]
)
def test_every_algorithm_comes_back_as_it_was(name, kernel):
    X, y = samples(n_classes=2 if kernel == "linear" else 3)
    classifier = make(name, kernel)
    X = X @ X.T if classifier.kernel == "precomputed" else X
    assert_same(reread(classifier.fit(X, y)), classifier, X)


@pytest.mark.parametrize("name", ["mpu", "voted-perceptron"])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "precomputed"])
def test_support_vectors_in_csr_come_back(name, kernel):
    X, y = samples()
    X = np.abs(np.rint(X))
    matrix = sparse.csr_array(X @ X.T if kernel == "precomputed" else X)
    classifier = make(name, kernel).fit(matrix, y)
    assert_same(reread(classifier), classifier, matrix)


@pytest.mark.parametrize("name", ["perceptron", "alma", "budget-perceptron", "voted-perceptron"])
def test_the_model_of_a_stream_comes_back_without_its_stream(name):
    X, y = samples()
    classifier = margins.get(name)().partial_fit(X, y, classes=["a", "b"])
    found = reread(classifier)
    assert_array_equal(found.predict(X), classifier.predict(X))
    assert_array_equal(pickle.loads(pickle.dumps(classifier)).predict(X), classifier.predict(X))
    assert "_state" in vars(classifier) and "_state" not in vars(found)
    for go_on in (found.partial_fit, found.set_params(warm_start=True).fit):
        with pytest.raises(ValueError, match=r"must have the state of its stream to continue\. Got"):
            go_on(X, y)
    assert_array_equal(found.predict(X), classifier.predict(X))
    clone(found).partial_fit(X, y, classes=["a", "b"])
    found.set_params(warm_start=False).fit(X, y).partial_fit(X, y)


def test_a_classifier_that_is_not_fitted_comes_back(tmp_path):
    path = tmp_path / "model.skops"
    dump(make("mpu", C=3.0), path)
    assert load(path).get_params() == make("mpu", C=3.0).get_params()
    assert load(str(path)).C == 3.0
    with open(path, "rb") as file:
        assert load(file).C == 3.0


def test_only_types_of_the_package_are_trusted():
    X, y = samples()
    for name in margins.available():
        names = skops_io.get_untrusted_types(data=written(make(name).fit(X, y)))
        assert all(each.startswith("margins.") for each in names)


# damaged and foreign files


def model_file():
    X, y = samples()
    return written(make("mpu", "rbf").fit(X, y))


FOREIGN = {
    "empty": b"",
    "text": b"a,b\n1,2\n",
    "pickle": pickle.dumps({"a": 1}),
    "zip": (lambda file: (zipfile.ZipFile(file, "w").writestr("a.txt", "a"), file.getvalue())[1])(
        io.BytesIO()
    ),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_foreign_file_is_one_clear_error(kind, tmp_path):
    path = tmp_path / "foreign"
    path.write_bytes(FOREIGN[kind])
    with pytest.raises(ValueError, match="foreign' is not a model file of skops, or is damaged: "):
        load(path)


@pytest.mark.parametrize("other", [LogisticRegression(), make_pipeline(LogisticRegression())])
def test_other_estimators_are_rejected(other):
    message = "must (hold|be) a classifier of margins, or a Pipeline .* type LogisticRegression"
    with pytest.raises(ValueError, match=message):
        load(io.BytesIO(skops_io.dumps(other)))
    with pytest.raises(TypeError, match=message):
        dump(other, io.BytesIO())


def test_a_missing_file_is_the_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "missing.skops")


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.99])
def test_a_truncated_file_is_one_clear_error(share):
    contents = model_file()
    with pytest.raises(ValueError, match="is not a model file of skops, or is damaged"):
        load(io.BytesIO(contents[: int(share * len(contents))]))


def test_no_changed_byte_is_anything_but_an_error_or_a_model():
    contents = model_file()
    X, _ = samples()
    rng = np.random.default_rng(0)
    n_refused = 0
    for _ in range(300):
        changed = bytearray(contents)
        changed[rng.integers(len(changed))] ^= 1 << rng.integers(8)
        try:
            load(io.BytesIO(bytes(changed))).predict(X)
        except ValueError as error:
            n_refused += 1
            assert "damaged" in str(error) or "must hold" in str(error)
    assert n_refused > 100


class Reached(Exception):
    pass


def fail():
    raise Reached


class Program:
    def __reduce__(self):
        return fail, ()


def test_types_of_others_are_rejected_by_name():
    classifier = make("mpu")
    classifier.extra = Program()
    with pytest.raises(ValueError, match=r"Got .*Program\. If these come from a source that you trust"):
        load(io.BytesIO(skops_io.dumps(classifier)))


@pytest.mark.parametrize(
    "function", ["margins.registry.get", "margins.losses.losses.minimize_scalar", "margins.x.Y"]
)
def test_a_name_in_the_package_is_trusted_only_if_it_is_a_class_of_models(function):
    assert not files._is_ours(function)
    assert files._is_ours("margins.certificate.Certificate")
    assert not files._is_ours("margins.__main__.Certificate")
    assert not files._is_ours("margins.registry.EntryPoint")  # of another package


def test_a_class_of_a_plug_in_is_trusted_by_name():
    class Mine(margins.get("pdm")):
        pass

    Mine.__module__, Mine.__qualname__ = __name__, "Mine"
    globals()["Mine"] = Mine
    X, y = samples()
    contents = written(Mine(random_state=0).fit(X, y))
    with pytest.raises(ValueError, match="Mine"):
        load(io.BytesIO(contents))
    (name,) = [n for n in skops_io.get_untrusted_types(data=contents) if not n.startswith("margins.")]
    assert type(load(io.BytesIO(contents), trusted=[name])) is Mine


# attributes that do not fit


DAMAGES = {
    "linear coef": "model.coef_ = model.coef_[:, :2]",
    "linear intercept": "model.intercept_ = np.zeros(3)",
    "linear parameter": "model.eps = 7.0",
    "kernel columns": "model.support_vectors_ = model.support_vectors_[:, :2]",
    "csr columns": "model.support_vectors_.indices[0] = 10**6",
    "csr negative": "model.support_vectors_.indices[0] = -(10**6)",
    "csr starts": "model.support_vectors_.indptr[-1] = 10**6",
    "csr format": "model.support_vectors_ = (1, 2)",
    "votes mistakes": "model.mistakes_[0][0] = 10**6",
    "votes negative": "model.mistakes_[0][0] = -(10**6)",
    "votes short": "votes._ended[0] = GrowingArray(votes._ended[0].values[:1])",
    "votes codes": "votes._codes = GrowingArray(votes._codes.values[:1])",
    "votes none": "votes._mistakes = []",
}


def damaged(kind):
    X, y = samples()
    if kind.startswith("votes"):
        model = margins.get("voted-perceptron")(kernel="rbf", max_iter=3, random_state=0).fit(X, y)
    else:
        model = make("mpu", "linear" if kind.startswith("linear") else "rbf")
        model.fit(sparse.csr_matrix(X) if kind.startswith("csr") else X, y)
    names = {"model": model, "votes": getattr(model, "_voted_model", None)}
    exec(DAMAGES[kind], names | {"np": np, "GrowingArray": GrowingArray})
    return written(model)


@pytest.mark.parametrize("kind", DAMAGES)
def test_attributes_that_do_not_fit_together_are_rejected(kind):
    with pytest.raises(ValueError, match="contains a damaged .*: "):
        load(io.BytesIO(damaged(kind)))


@pytest.mark.filterwarnings("ignore:calibration of:UserWarning")
@pytest.mark.parametrize(
    "classifier",
    [
        margins.MarginClassifier(kernel="rbf", multi_class="ovo"),
        margins.MarginClassifierCV(Cs=2, cv=2, calibration="sigmoid"),
        margins.get("averaged-perceptron")(max_iter=3),
        margins.get("voted-perceptron")(max_iter=3),
    ],
    ids=lambda classifier: type(classifier).__name__,
)
def test_skops_itself_reads_what_it_writes_if_the_types_are_named(classifier):
    X, y = samples(n_classes=3)
    contents = skops_io.dumps(classifier.fit(X, y))
    types = skops_io.get_untrusted_types(data=contents)
    assert_array_equal(skops_io.loads(contents, trusted=types).predict(X), classifier.predict(X))


def test_a_model_file_says_which_version_wrote_it():
    contents = written(margins.get("pam")(random_state=0).fit(*samples()))
    with zipfile.ZipFile(io.BytesIO(contents)) as file:
        schema = file.read("schema.json").decode()
    assert "_written_by" in schema and margins.__version__ in schema


def test_an_error_names_the_version_that_wrote_an_unreadable_model(monkeypatch):
    monkeypatch.setattr(files, "__version__", "9.1.0")
    contents = damaged("linear coef")
    monkeypatch.undo()
    with pytest.raises(ValueError, match=r"or one of margins 9.1.0 that \d+.\d+.\d+ cannot read: "):
        load(io.BytesIO(contents))
