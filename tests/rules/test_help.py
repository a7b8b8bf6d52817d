"""help() of rules: what their users may use, in numpydoc, and nothing that Cython has added."""

import pickle
import pydoc
import re

import margins.rules

UNWANTED = re.compile(r"\w*(cython|pyx|pickle)\w*|\b_?py_\w+|[Dd]oors?\b")


def test_help_shows_no_internals():
    for name in margins.rules.__all__:
        text = pydoc.render_doc(getattr(margins.rules, name), renderer=pydoc.plaintext)
        # The first line says "cython_function_or_method", which pydoc takes from the type.
        found = {match.group() for match in UNWANTED.finditer(text.partition("\n")[2])}
        assert not found, name
        assert margins.rules.__all__.count(name) == 1, name


def test_members_hidden_from_help_still_exist():
    rule = margins.rules.DynamicMargin(0.25)
    assert repr(pickle.loads(pickle.dumps(rule))) == repr(rule)
    assert "__pyx_vtable__" in vars(margins.rules.DynamicMargin)  # compiled plug-ins look it up
