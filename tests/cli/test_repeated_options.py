"""An option given twice is joined or refused: no value is lost without a word."""

import pytest


@pytest.mark.parametrize(
    "grid", [("-g", "C=0.001", "-g", "C=2"), ("-g", "C=0.001,2", "--grid", "C=2"), ("-g", "C=0.001,2,2")]
)
def test_values_of_one_parameter_are_joined(run, train_file, grid):
    options = ("--outer", "2", "--inner", "2", "-q", "--json")
    tables = run("study", train_file, *grid, *options).json["!Study"]["tables"]
    assert [table["!Table"]["settings"] for table in tables] == [[{"C": 0.001}, {"C": 2}]] * 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "DATA", "m", "-C", "1", "-C", "2"], "-C may be given only once. Got it 2 times."),
        (
            ["train", "DATA", "m", "-a", "pam", "--algorithm", "pdm"],
            "--algorithm may be given only once.",
        ),
        (["train", "DATA", "m", "--seed", "1", "--seed", "1"], "--seed may be given only once."),
        (["train", "DATA", "m", "-C", "1", "-p", "C=2"], "C may be given only once. Got -C and -p C."),
        (["train", "DATA", "m", "-p", "tau=1", "-p", "tau=2"], "Got several -p tau."),
        (
            ["train", "DATA", "m", "--seed", "1", "-p", "random_state=2"],
            "Got --seed and -p random_state",
        ),
        (["study", "DATA", "-p", "C=1", "-g", "C=2"], "C may be given only once. Got -p C and -g C."),
        (
            ["compare", "DATA", "pam", "pdm", "--folds", "2", "--folds", "3"],
            "--folds may be given only once.",
        ),
        (
            ["evaluate", "m", "DATA", "--target", "a", "--target", "b"],
            "--target may be given only once.",
        ),
    ],
)
def test_a_second_value_of_another_option_is_refused(
    run, train_file, tmp_path, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    result = run(*(train_file if each == "DATA" else each for each in arguments))
    assert (result.code, result.out) == (2, "") and message in result.err


def test_what_may_be_repeated_still_may(run, train_file, table_file, tmp_path):
    model = tmp_path / "m.skops"
    assert run("train", train_file, model, "-p", "random_state=3", "-q", "-q").code == 0
    options = ("--target", "bought", "--categorical", "colour", "--categorical", "shop")
    assert run("train", table_file, model, *options).code == 0
