"""Names that are going to disappear still work, and warn at the place that uses them."""

import importlib

import pytest

import margins.rules
from margins.deprecation import deprecated, renamed


def test_a_deprecated_function_works_warns_and_says_so_in_its_documentation():
    @deprecated("`other`", since="0.2.0", until="0.4.0")
    def one(x, y=2):
        """Add."""
        return x + y

    expected = "one is deprecated since 0.2.0 and will be removed in 0.4.0: use `other`."
    with pytest.warns(FutureWarning) as caught:
        assert one(1, y=3) == 4
    assert str(caught[0].message).endswith(expected) and caught[0].filename == __file__
    assert one.__name__ == "one" and one.__doc__.startswith("Add.")
    assert ".. deprecated:: 0.2.0" in one.__doc__


def test_a_renamed_name_leads_to_the_present_one():
    with pytest.warns(FutureWarning, match="use margins.rules.Averaging") as caught:
        assert margins.rules.Readout is margins.rules.Averaging
    assert caught[0].filename == __file__
    with pytest.warns(FutureWarning, match="margins.rules.Journal is deprecated since 0.2.0"):
        from margins.rules import Journal
    assert Journal is margins.rules.MistakeHistory


def test_other_names_are_an_error_as_ever():
    with pytest.raises(AttributeError, match="module 'margins.rules' has no attribute 'Nothing'"):
        _ = margins.rules.Nothing
    find = renamed("json", {"read": "loads"}, since="1", until="2")
    with pytest.warns(FutureWarning):
        assert find("read") is importlib.import_module("json").loads
