"""Model files of LIBLINEAR and LIBSVM: round trips, the programs themselves, and malformed files."""

import shutil
import subprocess
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from problems import clouds
from properties import SEED
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from sklearn.exceptions import ConvergenceWarning

import margins
from margins.interchange import dump_libsvm, load_libsvm
from margins.readers.malformed import MalformedFile
from margins.readers.models import ModelText, text_of

KERNELS = ["linear", "poly", "rbf", "sigmoid"]
LIBLINEAR = [shutil.which(f"liblinear-{name}") for name in ("train", "predict")]
LIBSVM = [shutil.which(f"svm-{name}") for name in ("train", "predict")]
needs_programs = pytest.mark.skipif(
    not all(LIBLINEAR + LIBSVM), reason="needs Debian's liblinear-tools and libsvm-tools"
)


@pytest.fixture(scope="module", params=[2, 3, 4])
def samples(request, tmp_path_factory):
    """A file in svmlight's format, and its samples; labels come in no order."""
    X, y = clouds(request.param, m=60, d=5)
    order = np.random.default_rng(3).permutation(60)
    path = tmp_path_factory.mktemp("samples") / "data"
    dump_svmlight_file(X[order], 3 * y[order] - 2, str(path), zero_based=False)
    X, y = load_svmlight_file(str(path))
    return path, X, y.astype(int)


def fitted(X, y, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of the sigmoid kernel
        return margins.MarginClassifier(random_state=0, **parameters).fit(X, y)


def svc(X, y, kernel):
    """SVC's problem."""
    parameters = {"loss": "hinge", "penalize_intercept": False, "multi_class": "ovo"}
    return fitted(X, y, kernel=kernel, **parameters)


def predictions(command, data, model):
    output = data.parent / "output"
    subprocess.run([command, data, model, output], check=True, capture_output=True)
    return np.loadtxt(output)


def assert_array_equal_but_ties(classifier, X, expected):
    """Of classes with equal votes, LIBSVM predicts the first one in its file, and we the smallest."""
    predicted = classifier.predict(X)
    if len(classifier.classes_) > 2:
        votes = np.sort(np.round(classifier.decision_function(X)), axis=1)
        is_tie = votes[:, -1] == votes[:, -2]
        assert is_tie.mean() < 0.2
        predicted, expected = predicted[~is_tie], expected[~is_tie]
    assert_array_equal(predicted, expected)


@needs_programs
@pytest.mark.parametrize("bias", ["-1", "0", "1", "2.5"])
@pytest.mark.parametrize("solver", ["1", "2", "3", "5"])
def test_liblinear_and_we_predict_the_same_by_its_files_and_by_ours(samples, solver, bias, tmp_path):
    data, X, y = samples
    model, ours = tmp_path / "model", tmp_path / "ours"
    train, predict = LIBLINEAR
    subprocess.run([train, "-q", "-s", solver, "-B", bias, data, model], check=True)
    expected, classifier = predictions(predict, data, model), load_libsvm(model)
    assert classifier.loss == ("hinge" if solver == "3" else "squared_hinge")
    assert classifier.penalty == ("l1" if solver == "5" else "l2")
    assert_array_equal(classifier.predict(X), expected)
    dump_libsvm(classifier, ours)
    assert_array_equal(predictions(predict, data, ours), expected)


@needs_programs
@pytest.mark.parametrize("kernel", range(4))
def test_libsvm_and_we_predict_the_same_by_its_files_and_by_ours(samples, kernel, tmp_path):
    data, X, y = samples
    model, ours = tmp_path / "model", tmp_path / "ours"
    train, predict = LIBSVM
    subprocess.run([train, "-q", "-t", str(kernel), data, model], check=True)
    expected, classifier = predictions(predict, data, model), load_libsvm(model)
    assert_array_equal_but_ties(classifier, X, expected)
    dump_libsvm(classifier, ours)
    is_linear = kernel == 0 and len(classifier.classes_) == 2  # LIBLINEAR's format
    by_ours = predictions(LIBLINEAR[1] if is_linear else predict, data, ours)
    assert_array_equal(by_ours, classifier.predict(X))
    own = svc(X, y, KERNELS[kernel])
    dump_libsvm(own, ours)
    assert_array_equal(predictions(LIBLINEAR[1] if is_linear else predict, data, ours), own.predict(X))


@needs_programs
def test_precomputed_kernels_of_libsvm_refer_to_samples(samples, tmp_path):
    _, X, y = samples
    K, data, model = (X @ X.T).toarray(), tmp_path / "data", tmp_path / "model"
    lines = [
        f"{label} 0:{k} " + " ".join(f"{i}:{value!r}" for i, value in enumerate(row, 1))
        for k, (label, row) in enumerate(zip(y.tolist(), K.tolist(), strict=True), 1)
    ]
    data.write_text("\n".join(lines) + "\n")
    subprocess.run([LIBSVM[0], "-q", "-t", "4", data, model], check=True)
    expected = predictions(LIBSVM[1], data, model)
    classifier = load_libsvm(model, n_features=60)
    assert_array_equal_but_ties(classifier, K, expected)
    dump_libsvm(classifier, model)
    assert_array_equal(predictions(LIBSVM[1], data, model), classifier.predict(K))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"loss": "hinge", "fit_intercept": False},
        {"penalize_intercept": False},
        {"intercept_scaling": 4.0},
        {"penalty": "l1"},
        *({"kernel": kernel, "multi_class": "ovo"} for kernel in [*KERNELS, "precomputed"]),
    ],
    ids=str,
)
def test_a_loaded_classifier_has_the_scores_of_the_one_that_was_dumped(parameters, n_classes, tmp_path):
    X, y = clouds(n_classes, m=40)
    X = X @ X.T if parameters.get("kernel") == "precomputed" else X
    classifier = fitted(X, y, **parameters)
    dump_libsvm(classifier, tmp_path / "model")
    loaded = load_libsvm(tmp_path / "model", n_features=X.shape[1])
    if "kernel" in parameters:  # BLAS adds in the order of its arrays
        np.testing.assert_allclose(
            loaded.decision_function(X), classifier.decision_function(X), rtol=0, atol=1e-12
        )
    else:
        assert_array_equal(loaded.decision_function(X), classifier.decision_function(X))
    assert_array_equal(loaded.predict(X), classifier.predict(X))
    contents = (tmp_path / "model").read_bytes()
    assert text_of(ModelText(contents, "model").model()) == contents
    assert loaded.certificates_ == []
    if parameters.get("kernel") != "sigmoid":  # it is indefinite
        C = {} if "kernel" in parameters else {"C": 1.0}  # a file does not state it
        own = margins.certify(loaded if C else classifier, X, y, **C)
        assert own.certificates[0].gap < 0.05


def test_models_that_neither_program_has_are_refused(tmp_path):
    X, y = clouds(3, m=30)
    for classifier, message in (
        (fitted(X, y, kernel="rbf"), "multi_class='ovo'"),
        (margins.get("voted-perceptron")(random_state=0).fit(X, y), "must have a weight vector"),
        (fitted(X, y, kernel=lambda X, Z: X @ Z.T), "kernel of dump_libsvm"),
    ):
        with pytest.raises(TypeError, match=message):
            dump_libsvm(classifier, tmp_path / "model")
    for labels in (y.astype(str), y * 2**40, y > 0):
        with pytest.raises(ValueError, match="integers of 32 bits"):
            dump_libsvm(fitted(X, labels), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_more_features_have_no_weight_and_fewer_are_refused(tmp_path):
    X, y = clouds(2, m=30)
    for kernel in ("linear", "rbf"):
        classifier = fitted(X, y, kernel=kernel)
        dump_libsvm(classifier, tmp_path / "model")
        wide = load_libsvm(tmp_path / "model", n_features=9)
        padded = np.pad(X, ((0, 0), (0, 5)))
        scores = classifier.decision_function(X)
        np.testing.assert_allclose(wide.decision_function(padded), scores, rtol=1e-10)
        with pytest.raises(ValueError, match="at least 4"):
            load_libsvm(tmp_path / "model", n_features=3)


def test_probabilities_are_left_out_with_a_word(tmp_path):
    (tmp_path / "model").write_text(KERNEL_FILE.replace("nr_sv", "probA 1\nprobB 0\nnr_sv"))
    with pytest.warns(UserWarning, match="probA and probB are left out"):
        load_libsvm(tmp_path / "model")


LINEAR_FILE = """solver_type L2R_L1LOSS_SVC_DUAL
nr_class 2
label 1 -1
nr_feature 2
bias 1
w
0.5
-0.25
0.125
"""
KERNEL_FILE = """svm_type c_svc
kernel_type rbf
gamma 0.5
nr_class 2
total_sv 2
rho 0.25
label 1 -1
nr_sv 1 1
SV
1 1:0.5 3:1
-1 2:1.25
"""
# (file, text, its replacement): line, message
MALFORMED = {
    (LINEAR_FILE, "solver_type", "solver"): (1, "must begin with solver_type or svm_type"),
    (LINEAR_FILE, "L2R_L1LOSS_SVC_DUAL", "L2R_LR"): (1, "solver_type must be one of L2R_L2LOSS"),
    (LINEAR_FILE, "nr_class 2", "nr_class two"): (2, "nr_class must be an integer of"),
    (LINEAR_FILE, "label 1 -1", "label 1 1"): (3, "labels must be distinct"),
    (LINEAR_FILE, "label 1 -1", f"label 1 {10**20}"): (3, "an integer of 32 bits"),
    (LINEAR_FILE, "label 1 -1", "label 1"): (3, "label must have 2 values. Got 1"),
    (LINEAR_FILE, "nr_feature 2\n", ""): (5, "nr_feature must be given before the table"),
    (LINEAR_FILE, "nr_feature 2", "nr_feature 0"): (4, "of at least 1"),
    (LINEAR_FILE, "nr_feature 2", f"nr_feature {'9' * 4300}"): (4, "an integer of 32 bits"),
    (LINEAR_FILE, "nr_feature 2", "nr_feature 0_2"): (4, "an integer of 32 bits"),
    (LINEAR_FILE, "w\n", "w 1\n"): (6, "a line 'w' must end there"),
    (LINEAR_FILE, "bias 1", "bias nan"): (5, "bias must be a finite number"),
    (LINEAR_FILE, "bias 1", "bias 1\nbias 1"): (6, "bias may be given only once"),
    (LINEAR_FILE, "w\n", "v\n"): (10, "a line 'w' must come before the table"),
    (LINEAR_FILE, "0.125\n", ""): (6, "3 rows of 1 numbers. Got 2 numbers"),
    (LINEAR_FILE, "-0.25", "inf"): (8, "a weight must be a finite number. Got 'inf'"),
    (LINEAR_FILE, "-0.25", "O.25"): (8, "a weight must be a finite number. Got 'O.25'"),
    (KERNEL_FILE, "c_svc", "nu_svc"): (1, "svm_type must be one of c_svc"),
    (KERNEL_FILE, "rbf", "cubic"): (2, "kernel_type must be one of linear"),
    (KERNEL_FILE, "gamma 0.5\n", ""): (8, "gamma must be given before the table"),
    (KERNEL_FILE, "rho 0.25", "rho 0.25 1"): (6, "rho must have 1 values. Got 2"),
    (KERNEL_FILE, "nr_sv 1 1", "nr_sv 1 2"): (8, "nr_sv must add up to total_sv, 2"),
    (KERNEL_FILE, "-1 2:1.25\n", ""): (9, "the table must have 2 lines. Got 1"),
    (KERNEL_FILE, "-1 2:1.25", "one 2:1.25"): (11, "must begin with 1 finite numbers"),
    (KERNEL_FILE, "-1 2:1.25", "-1 2:x"): (11, "the value of a feature must be a finite number"),
    (KERNEL_FILE, "3:1", "1:1"): (10, "the indices of a sample must ascend"),
    (KERNEL_FILE, "rbf", "precomputed"): (
        10,
        "the value of the only feature|must be 0:i|support vector",
    ),
}


@pytest.mark.parametrize("case", range(len(MALFORMED)))
def test_malformed_files_are_refused_with_the_line(case, tmp_path):
    (contents, text, replacement), (line, message) = list(MALFORMED.items())[case]
    assert contents.count(text) >= 1
    path = tmp_path / "model"
    path.write_text(contents.replace(text, replacement, 1))
    with pytest.raises(MalformedFile, match=message) as caught:
        load_libsvm(path)
    assert (caught.value.path, caught.value.line) == (str(path), line)


def test_mutated_files_load_or_are_refused(tmp_path):
    rng, path = np.random.default_rng(SEED), tmp_path / "model"
    X, y = clouds(3, m=9)
    dump_libsvm(svc(X, y, "poly"), path)
    files, n_refused = [LINEAR_FILE.encode(), KERNEL_FILE.encode(), path.read_bytes()], 0
    n_files = 10_000 if SEED else 2_000
    for k in range(n_files):
        contents = bytearray(files[k % 3])
        for _ in range(rng.integers(1, 4)):
            place = rng.integers(len(contents)) if contents else 0
            how = rng.integers(4)
            if how == 0:
                contents[place : place + 1] = bytes([rng.integers(256)])
            elif how == 1:
                del contents[place : place + rng.integers(1, 9)]
            elif how == 2:
                contents[place:place] = contents[: rng.integers(1, 30)]
            else:
                contents[place : place + 1] = rng.choice(
                    [b"9999999999", b"-1", b" ", b"\n", b"e9", b":"]
                )
            contents = contents or bytearray(b"\n")
        path.write_bytes(contents)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                load_libsvm(path)
        except MalformedFile:
            n_refused += 1
    assert 0.3 * n_files < n_refused < n_files
