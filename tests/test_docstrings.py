"""Docstrings of public classes: numpydoc's sections, and examples of compiled classes that run."""

import doctest
import inspect

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


@pytest.mark.parametrize("name", CLASSES)
def test_public_classes_have_examples_and_siblings(name):
    text = inspect.getdoc(CLASSES[name])
    assert ">>> " in text.partition("\nExamples\n--------\n")[2]
    assert ("\nSee Also\n--------\n" in text) is (name not in ALONE)


@pytest.mark.parametrize("name", [name for name in margins.available() if ":" not in name])
def test_algorithms_have_examples_and_siblings(name):
    text = inspect.getdoc(margins.get(name))
    assert text.index("\nSee Also\n--------\n") < text.index("\nExamples\n--------\n>>> ")


@pytest.mark.parametrize("name", COMPILED)
def test_examples_of_compiled_classes_print_what_they_show(name):
    rule = CLASSES[name]
    examples = doctest.DocTestParser().get_doctest(inspect.getdoc(rule), {}, name, None, 0)
    assert examples.examples
    assert doctest.DocTestRunner().run(examples).failed == 0
