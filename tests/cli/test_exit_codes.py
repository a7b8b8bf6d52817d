"""An error is one message and an exit code, and leaves no new file."""

import os
import signal
import sys
import threading

import pytest

import margins
from margins.persistence import dump, load

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        ("train none.svm m.skops", 3, "none.svm: cannot be read: No such file"),
        ("train TRAIN no/folder/m.skops", 3, "there is no folder"),
        ("train TRAIN m.skops -a pmd", 2, "Did you mean 'pdm'?"),
        ("train TRAIN m.skops -p kernl=rbf", 2, "Did you mean 'kernel'?"),
        ("train TRAIN m.skops -C -1", 2, "C of MarginClassifier must be"),
        ("train TRAIN m.skops --eps small", 2, "eps of MarginClassifier must be"),
        ("train TRAIN m.skops -p C", 2, "NAME=VALUE"),
        ("train -", 2, "Missing argument 'MODEL'"),
        ("train TABLE m.skops", 2, "a table needs --target NAME"),
        ("train TABLE m.skops --target sold", 2, "there is no column 'sold'. Columns: 'size'"),
        ("predict TRAIN TRAIN", 3, "is not a model file of skops, or is damaged"),
        ("predict TRAIN m.skops", 3, "not a zip file; the model comes before the data"),
        ("predict none.skops TRAIN", 3, "none.skops: cannot be read"),
        ("compare TRAIN pam", 2, "at least 2 algorithms"),
        ("compare TRAIN pam pa pam", 2, "at least 2 algorithms, each of them once. Got pam, pa, pam."),
        ("compare TRAIN pam pa -p foo=1", 2, "of the compared algorithms, pam, pa. Got 'foo'"),
        ("compare none.svm pam mpu --scoring exactness", 2, "scoring of compare must be"),
        ("compare none.svm pam mpu --jobs 0", 2, "n_jobs of compare must be None or"),
        ("compare none.svm pam mpu --seed -1", 2, "-1 is not in the range"),
        ("train TRAIN model --class-weight 1", 2, "must be balanced, or LABEL=WEIGHT"),
        ("train TRAIN model --class-weight 1=-1", 2, "a mapping to numbers in [0, inf)"),
        ("compare TRAIN auto pam -p auto:class_weight={1:-1}", 2, "a mapping to numbers in [0, inf)"),
        # A parameter of kernels that the kernel does not have would be ignored.
        (
            "train TRAIN model --gamma 2",
            2,
            "gamma of algorithm 'auto' has no effect with the kernel linear",
        ),
        ("train TRAIN m.skops -a pam -p degree=2 --kernel rbf", 2, "degree of algorithm 'pam' has no"),
        ("explain TRAIN --gamma 2", 2, "has no effect with the kernel linear"),
        ("path TRAIN --gamma 2", 2, "has no effect with the kernel linear"),
        ("compare TRAIN auto pam -p auto:kernel=rbf -p gamma=2", 2, "gamma of algorithm 'pam' has no"),
        (
            "study TRAIN -g gamma=1,2 -g kernel=linear,poly -p coef0=1 -p degree=2 -g C=0",
            2,
            "C of Margin",
        ),
        ("study TRAIN -g coef0=1,2 -g kernel=linear,rbf", 2, "no effect with the kernel linear, rbf"),
        ("train TRAIN m.skops -a pfm -p gamma=-1", 2, "gamma of pfm"),
        ("path TRAIN -C 1", 2, "No such option '-C'"),
        ("path TRAIN --points 100000", 2, "100000 is not in the range 1<=x<=10000"),
        ("path TRAIN -p C=1", 2, "path does not take -p C: --c-min, --c-max"),
        ("study TRAIN", 2, "Missing option '-g' / '--grid'"),
        ("study TRAIN -g C=0", 2, "C of MarginClassifier must be"),
        ("path TRAIN --c-min 5 --c-max 1", 2, "must be in [1e-100, 1e+100] and in this order"),
        ("path TRAIN --c-max nan", 2, "must be in [1e-100, 1e+100] and in this order"),
        ("train TABLE m.skops --target bought --zero-based", 2, "for svmlight's format"),
        ("train TABLE m.skops --target bought --categorical bought", 2, "the target 'bought' cannot"),
        ("study TRAIN -g C=1 --cache /dev/null/cache", 3, "margins: cache of study must be a folder"),
        ("study TRAIN -g C=1 --scoring neg_log_loss", 2, "margins: scoring of study must be a metric"),
        ("tran TRAIN", 2, "No such command"),
        # An option given twice is joined or refused: no value is lost without a word.
        ("train TRAIN m.skops -C 1 -C 2", 2, "-C may be given only once. Got it 2 times."),
        ("train TRAIN m.skops -a pam --algorithm pdm", 2, "--algorithm may be given only once."),
        ("train TRAIN m.skops -C 1 -p C=2", 2, "C may be given only once. Got -C and -p C."),
        ("train TRAIN m.skops -p tau=1 -p tau=2", 2, "Got several -p tau."),
        ("train TRAIN m.skops --seed 1 -p random_state=2", 2, "Got --seed and -p random_state"),
        ("study TRAIN -p C=1 -g C=2", 2, "C may be given only once. Got -p C and -g C."),
        ("train TRAIN m.skops --class-weight 1=2,1=3", 2, "only once. Got several of 1: '1=2,1=3'."),
        ("evaluate m TRAIN --target a --target b", 2, "--target may be given only once."),
    ],
)
def test_an_error_is_one_message_and_an_exit_code(
    run, train_file, table_file, tmp_path, monkeypatch, command, code, message
):
    monkeypatch.chdir(tmp_path)
    files = {"TRAIN": train_file, "TABLE": table_file}
    result = run(*(files.get(word, word) for word in command.split()))
    assert (result.code, result.out) == (code, "") and message in result.err, result.err
    assert "Traceback" not in result.err and not (tmp_path / "m.skops").exists()


TRAINING = (
    "train d.svm m.skops",
    "train d.svm m.skops -a pam",
    "explain d.svm",
    "path d.svm --points 2",
    "compare d.svm pam mpu --folds 2",
    "study d.svm -g C=1 --outer 2 --inner 2",
)
UNUSABLE = (
    ("1 1:2\n1 1:3\n", "", "at least 2 classes"),
    ("1\n-1\n1\n-1\n1\n-1\n", "", "at least one feature"),
    ("1 1:1e200\n-1 1:3\n" * 6, "", "too long: its squared norm must be at most"),
    ("0.5 1:2\n1.7 1:3\n", "1:1:", "a label must be a whole number"),
    ("1 1:2\n-1 1:1 2000000000:3\n", "2:8:", "an index must be at most 134217728. Got '2000000000:3'"),
    ("", "1:1:", "at least one sample"),
)


@pytest.mark.parametrize("command", TRAINING)
def test_samples_that_cannot_be_trained_on_name_their_file(run, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    for text, place, problem in UNUSABLE:
        (tmp_path / "d.svm").write_text(text)
        result = run(*command.split())
        assert result.code == 3 and not result.out and "Traceback" not in result.err, problem
        last = result.err.splitlines()[-1]
        assert last.startswith(f"margins: d.svm:{place} ") and problem in result.err, problem
        assert os.listdir(tmp_path) == ["d.svm"], problem


def test_the_largest_index_to_train_on_depends_on_the_first_index(run, tmp_path):
    path = tmp_path / "d.svm"
    for option, index in (((), 2**27 + 1), (("--zero-based",), 2**27)):
        path.write_text(f"1 1:2\n-1 {index}:3\n")
        result = run("train", path, tmp_path / "m.skops", *option)
        assert result.code == 3 and f"at most {index - 1}." in result.err


def test_what_does_not_suit_the_samples_is_found_when_they_are_read(run, train_file, tmp_path):
    result = run("train", train_file, tmp_path / "m.skops", "-p", "class_weight={5: 1.0}")
    assert result.code == 3 and f"{train_file}: class_weight of" in result.err
    result = run("study", train_file, "-g", "C=1", "--outer", "40", "-q")
    assert result.code == 3 and f"{train_file}: " in result.err


def test_samples_to_test_a_path_with_are_read_before_it_is_trained(run, train_file, tmp_path):
    (tmp_path / "bad.svm").write_text("1 1:x\n")
    result = run("path", train_file, "--points", "2", "--max-iter", "1", "--test", tmp_path / "bad.svm")
    assert result.code == 3 and result.err.startswith(f"margins: {tmp_path / 'bad.svm'}:1:5: ")


def test_the_target_cannot_be_a_feature_of_the_model(run, table_file, tmp_path):
    model = tmp_path / "m.skops"
    options = ("--target", "bought", "--categorical", "colour,shop,colour")
    assert run("train", table_file, model, *options).code == 0
    result = run("evaluate", model, table_file, "--target", "size")
    assert result.code == 2 and "the target 'size' cannot also be a column of X" in result.err
    other = tmp_path / "other.csv"
    other.write_text("size,colour\n1,red\n")
    result = run("predict", model, other)
    assert result.code == 3 and f"{other}: there is no column 'shop'" in result.err


def test_a_model_that_is_not_fitted_is_rejected(run, train_file, tmp_path):
    dump(margins.MarginClassifier(), tmp_path / "m.skops")
    for command in ("predict", "evaluate"):
        result = run(command, tmp_path / "m.skops", train_file)
        assert result.code == 3 and "m.skops: must hold a fitted classifier" in result.err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="has no device that is full")
@pytest.mark.parametrize(
    "arguments", [("predict", "MODEL", "DATA"), ("evaluate", "MODEL", "DATA"), ("list",)]
)
def test_an_output_that_takes_nothing_is_one_message(run, train_file, tmp_path, monkeypatch, arguments):
    files = {"MODEL": tmp_path / "m.skops", "DATA": train_file}
    run("train", train_file, files["MODEL"])
    with open("/dev/full", "w") as full:  # closed without an error, as at the end of a process
        monkeypatch.setattr(sys, "stdout", full)
        code, _, err = run(*(files.get(each, each) for each in arguments))
    message = "margins: standard output: cannot be written: No space left on device\n"
    assert (code, err) == (3, message)


def test_without_a_proof_the_model_is_written_and_the_exit_code_says_so(run, train_file, tmp_path):
    model = tmp_path / "m.skops"
    result = run("train", train_file, model, "--max-iter", "1", "--eps", "1e-6", "-p", "solver=dcd")
    assert result.code == 4 and "did not converge" in result.err
    assert not load(model).converged_


def test_an_old_model_stays_if_the_new_one_cannot_be_trained(run, train_file, tmp_path):
    model = tmp_path / "m.skops"
    run("train", train_file, model)
    before = model.read_bytes()
    train_file.write_text("1 1:x\n")
    assert run("train", train_file, model).code == 3
    assert model.read_bytes() == before and sorted(os.listdir(tmp_path)) == ["m.skops", "train.svm"]


@pytest.mark.no_cover  # an interrupt may come while coverage holds a lock
@pytest.mark.usefixtures("no_collection")
@pytest.mark.skipif(os.name == "nt", reason="Windows sends no SIGINT to a process alone")
def test_an_interrupted_fit_leaves_no_file(run, train_file, tmp_path, monkeypatch):
    fit = margins.MarginClassifier.fit

    def interrupted_later(*args):
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        return fit(*args)

    monkeypatch.setattr(margins.MarginClassifier, "fit", interrupted_later)
    endless = "-C 1e9 -p eps=1e-9 -p solver=dcd --max-iter 1000000000 --max-time 60"
    result = run("train", train_file, tmp_path / "m.skops", *endless.split())
    assert result.code == 130 and result.err.strip() == "margins: interrupted; no file was written"
    assert os.listdir(tmp_path) == ["train.svm"]


@pytest.mark.parametrize(
    "grid", [("-g", "C=0.001", "-g", "C=2"), ("-g", "C=0.001,2", "--grid", "C=2"), ("-g", "C=0.001,2,2")]
)
def test_values_of_one_parameter_are_joined(run, train_file, grid):
    options = ("--outer", "2", "--inner", "2", "-q", "--json")
    tables = run("study", train_file, *grid, *options).json["!Study"]["tables"]
    assert [table["!Table"]["settings"] for table in tables] == [[{"C": 0.001}, {"C": 2}]] * 2


def test_some_options_may_be_repeated(run, train_file, table_file, tmp_path):
    model = tmp_path / "m.skops"
    assert run("train", train_file, model, "-p", "random_state=3", "-q", "-q").code == 0
    options = ("--target", "bought", "--categorical", "colour", "--categorical", "shop")
    assert run("train", table_file, model, *options).code == 0
