"""Checks for authors of algorithms and rules, which all built-ins pass.

>>> from margins.testing import check_rule
>>> from margins.rules import DynamicMargin
>>> check_rule(DynamicMargin(0.1))

The checks need no test framework: each raises AssertionError with the name of the class, the check,
what it got and what it expected. A test framework can run them separately::

    @pytest.mark.parametrize(("check", "arguments"), algorithm_checks("halving"))
    def test_halving(check, arguments):
        check(*arguments)
"""

from margins.testing.algorithms import algorithm_checks, check_algorithm
from margins.testing.rules import check_rule, rule_checks

__all__ = ["algorithm_checks", "check_algorithm", "check_rule", "rule_checks"]
