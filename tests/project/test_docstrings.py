"""Docstrings of public classes: numpydoc's sections, and examples of compiled classes that run."""

import doctest
import inspect
import re

import pytest

import margins
import margins.kernels
import margins.losses
import margins.model_selection
import margins.plotting
import margins.rules

MODULES = (margins.rules, margins.losses, margins.kernels, margins.plotting, margins.model_selection)
CLASSES = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in MODULES
    for name in module.__all__
    if inspect.isclass(getattr(module, name))
}
COMPILED = [name for name in CLASSES if name.startswith("margins.rules.") and not name.endswith("Error")]
# Without a sibling.
ALONE = {"margins.rules.RuleError"}


def test_public_classes_have_examples_and_siblings():
    for name, value in CLASSES.items():
        text = inspect.getdoc(value)
        assert ">>> " in text.partition("\nExamples\n--------\n")[2], name
        assert ("\nSee Also\n--------\n" in text) is (name not in ALONE), name


def test_algorithms_have_examples_and_siblings():
    for name in margins.available():
        sections = re.findall(r"\n(See Also|Examples)\n--------\n", inspect.getdoc(margins.get(name)))
        assert sections == ["See Also", "Examples"], name


def attributes_of(algorithm):
    """Names in the section "Attributes" of a docstring, the section See Also excluded."""
    section = inspect.getdoc(algorithm).partition("\nAttributes\n----------\n")[2]
    return re.findall(r"^(\w+_) : ", section.partition("\nSee Also\n")[0], re.M)


def test_a_voted_perceptron_documents_what_it_has():
    X, y = [[1, 2], [2, 1], [-1, -1], [-2, 0]], [1, 1, 0, 0]
    voted = margins.get("voted-perceptron")
    fitted = voted(random_state=0).fit(X, y)
    listed = attributes_of(voted)
    assert {"mistakes_", "votes_", "support_", "support_vectors_"} <= set(listed)
    elsewhere = {"upper_bounds_", "feature_names_in_", "n_support_"}  # streams, data frames, kernels
    assert [name for name in listed if name not in elsewhere and not hasattr(fitted, name)] == []
    assert {"coef_", "intercept_"} <= set(attributes_of(margins.get("perceptron")))


def test_examples_of_compiled_classes_print_what_they_show():
    for name in COMPILED:
        text = inspect.getdoc(CLASSES[name])
        examples = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
        assert examples.examples, name
        assert doctest.DocTestRunner().run(examples).failed == 0, name


@pytest.mark.parametrize("name", ["parameter_search", "double_cross_validation"])
def test_docstrings_made_of_parts_have_one_indentation_on_every_python(name):
    """Since Python 3.13 a docstring comes without the indentation of its source."""
    text = inspect.getdoc(getattr(margins.model_selection, name))
    parameters = re.findall(r"^(\w+) : ", text.partition("Returns\n-------")[0], re.M)
    assert parameters == list(inspect.signature(getattr(margins.model_selection, name)).parameters)
    assert re.search(r"^Raises\n------\n\w", text, re.M)
