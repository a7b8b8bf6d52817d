"""The page for switchers names what scikit-learn's classes have, and commands that exist."""

import inspect
import re
import shlex
import warnings
from pathlib import Path

import pytest
from sklearn import linear_model, svm

from margins.cli.app import cli

PAGE = (Path(__file__).parents[2] / "docs" / "coming_from.md").read_text()
TEXT = re.sub(r"^```.*?^```", "", PAGE, flags=re.M | re.S)  # without examples
SECTIONS = {section.partition("\n")[0]: section for section in re.split(r"^## ", TEXT, flags=re.M)[1:]}
CLASSES = [
    ("LinearSVC", svm.LinearSVC),
    ("SVC", svm.SVC),
    ("Perceptron", linear_model.Perceptron),
    ("Perceptron", getattr(linear_model, "PassiveAggressiveClassifier", linear_model.Perceptron)),
]


@pytest.mark.parametrize(("title", "theirs"), CLASSES, ids=[theirs.__name__ for _, theirs in CLASSES])
def test_every_parameter_and_fitted_attribute_is_named(title, theirs):
    section = next(text for name, text in SECTIONS.items() if name.startswith(title))
    named = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", section))))
    parameters = set(inspect.signature(theirs).parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = vars(theirs().fit([[0.0], [1.0], [0.2]], [0, 1, 0]))
    attributes = {name for name in fitted if name.endswith("_") and not name.startswith("_")}
    of_all = {"classes_", "n_features_in_", "coef_", "intercept_", "n_iter_"}
    assert (parameters | (attributes - of_all)) - named == set()


COMMANDS = sorted(
    set(re.findall(r"`(margins [^`]+)`", PAGE))
    | {
        f"margins train a b {text}"
        for text in re.findall(r"\| `((?:-p|--class-weight) [^`]+)` \|", PAGE)
    }
)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_of_the_page_have_options_that_exist(command):
    _, name, *arguments = shlex.split(command)
    if name == "train" and not {"a", "a.svm"} & set(arguments):
        arguments = ["a", "b", *arguments]
    context = cli.commands[name].make_context(name, arguments)
    assert context.params
