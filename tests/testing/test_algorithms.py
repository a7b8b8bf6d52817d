"""Checks of algorithms: the registered ones pass, and broken ones fail with a message that says why."""

import dataclasses
import math
import re
import subprocess
import sys

import numpy as np
import pytest

import margins
import margins.rules
from margins.algorithms.averaged_perceptron import AveragedPerceptron
from margins.algorithms.pdm import DynamicMarginPerceptron
from margins.estimators.base import BaseMarginClassifier
from margins.parameters import POSITIVE, Interval, parameter
from margins.rules import Additive, FixedThreshold, Mistake, NoShrink, Rules
from margins.solvers.base import Phase
from margins.testing import algorithm_checks, check_algorithm
from margins.testing.truth import maximum_margin

SAMPLED = "averaged-perceptron"
NOT_SAMPLED = {"check_scikit_learn": "All pass it in tests/estimators/test_scikit_learn.py."}
HARD_MARGIN = {"pfm": {"C": math.inf, "gamma": 0.1}}  # needs a margin there


@pytest.mark.parametrize("name", margins.available())
def test_registered_algorithm_passes_the_checks(name):
    check_algorithm(name, {} if name == SAMPLED else NOT_SAMPLED)
    if name in HARD_MARGIN:
        check_algorithm(name, NOT_SAMPLED, **HARD_MARGIN[name])


# ------------------------------------------------------------------------------------- broken algorithms


class Documented(DynamicMarginPerceptron):
    """As the perceptron with dynamic margin.

    **Source**: this test.
    """


class ChangesAfterFit(Documented):
    """Changes something after each fit.

    **Source**: this test.
    """

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.change(X)
        return self

    def change_certificates(self, **changes):
        """Change numbers of the certificates by functions of a certificate."""
        self.certificates_ = [
            dataclasses.replace(one, **{key: change(one) for key, change in changes.items()})
            for one in self.certificates_
        ]


class BoastfulMargin(ChangesAfterFit):
    def change(self, X):
        self.change_certificates(margin=lambda one: 1.2 * abs(one.margin) + 0.1)


class LowUpperBound(ChangesAfterFit):
    def change(self, X):
        self.change_certificates(upper_bound=lambda one: 0.5 * one.upper_bound)


class BoastfulFraction(ChangesAfterFit):
    def change(self, X):
        self.change_certificates(fraction=lambda one: 1.0)


class BoastfulDual(ChangesAfterFit):
    def change(self, X):
        self.change_certificates(dual=lambda one: 2 * one.dual)


class OtherWeights(ChangesAfterFit):
    def change(self, X):
        self.coef_ = self.coef_[:, ::-1] + 1


class SaysItHasConverged(ChangesAfterFit):
    def change(self, X):
        self.converged_ = True


class StopsShort(Documented):
    def phases(self, run):
        yield Phase(Rules(Mistake(), Additive(), NoShrink()))


class DoublesFloat32(Documented):
    def fit(self, X, y, sample_weight=None):
        return super().fit(2 * X if X.dtype == np.float32 else X, y, sample_weight)


class MutableDefault(Documented):
    options: dict = dataclasses.field(
        default_factory=dict, metadata={"allowed": POSITIVE, "description": "Options."}
    )


class Undescribed(Documented):
    strength: float = parameter(POSITIVE, " ", default=1.0)


class Unconstrained(Documented):
    strength: float = dataclasses.field(
        default=1.0, metadata={"allowed": "positive", "description": "The strength."}
    )


class BadDefault(Documented):
    strength: float = parameter(Interval(0, 1), "The strength.", default=2.0)


class Unsourced(DynamicMarginPerceptron):
    """As the perceptron with dynamic margin."""


class ValidatingConstructor(Documented):
    def __post_init__(self):
        if not isinstance(self.eps, float):
            raise ValueError("eps")


class ConvertingConstructor(Documented):
    def __post_init__(self):
        self.class_weight = str(self.class_weight)


class ExplicitConstructor(Documented):
    def __init__(self, eps=0.01):
        super().__init__(eps=eps)


class NamelessErrors(Documented):
    def check_parameters(self):
        try:
            super().check_parameters()
        except ValueError:
            raise ValueError("bad parameter") from None


class NoCheck(Documented):
    def check_parameters(self):
        pass


class Unpicklable(ChangesAfterFit):
    def change(self, X):
        self.reason_ = lambda: None


class ForgetsWhenPickled(Documented):
    def __getstate__(self):
        return {**super().__getstate__(), "intercept_": None}


class FitsByChance(Documented):
    def fit(self, X, y, sample_weight=None):
        seed, self.random_state = self.random_state, None
        try:
            return super().fit(X, y, sample_weight)
        finally:
            self.random_state = seed


class CountsThreads(Documented):
    def phases(self, run):
        yield Phase(Rules(FixedThreshold(float(self.n_jobs or 1)), Additive(), NoShrink()))


class WritesToX(ChangesAfterFit):
    def change(self, X):
        X[0] *= 2


class IgnoresWeights(Documented):
    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y)


class ChangesItsParameters(ChangesAfterFit):
    def change(self, X):
        self.eps = 2 * self.eps


class Remembers(Documented):
    def fit(self, X, y, sample_weight=None):
        self.first_ = getattr(self, "first_", X.shape)
        return super().fit(X, y, sample_weight)


class ForgetsTheStream(AveragedPerceptron):
    """As the averaged perceptron.

    **Source**: this test.
    """

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        self._state = None
        return super().partial_fit(X, y, [0, 1], sample_weight)


class PredictsAList(Documented):
    def predict(self, X):
        return list(super().predict(X))


class FailsWithoutAWord(Documented):
    def predict(self, X):
        raise AssertionError


class NoCertificate(ChangesAfterFit):
    def change(self, X):
        del self.certificates_


class Undeclared:
    """A classifier without declared parameters.

    **Source**: this test.
    """

    def fit(self, X, y):
        return self


BROKEN = {
    BoastfulMargin: ("check_certificates", "got margin .*, expected at most "),
    LowUpperBound: ("check_certificates", "got upper_bound .*, expected at least the maximum margin"),
    BoastfulFraction: ("check_certificates", "got fraction 1.0, expected at most "),
    BoastfulDual: ("check_certificates", "got dual .*, expected at most the optimum"),
    OtherWeights: ("check_certificates", "what coef_ and intercept_ attain"),
    SaysItHasConverged: ("check_certificates", "got converged_ with Certificate.*eps = 0.01 proven"),
    NoCertificate: ("check_certificates", "got certificates_ = None, expected a list of one"),
    StopsShort: ("check_termination", "got converged_ = False with C=inf and eps=0.5, expected True"),
    DoublesFloat32: ("check_layouts", "X in float32"),
    MutableDefault: ("check_parameters_are_declared", "a mutable default of options"),
    Undescribed: ("check_parameters_are_declared", "got ' ' as the description of strength"),
    Unconstrained: ("check_parameters_are_declared", "got 'positive' as the constraint of strength"),
    ExplicitConstructor: ("check_parameters_are_declared", r"got constructor parameters \['eps'\]"),
    Undeclared: ("check_parameters_are_declared", "got no dataclass, expected parameters declared"),
    BadDefault: ("check_defaults_are_allowed", r"the default strength=2.0, expected in \[0, 1\]"),
    Unsourced: ("check_docstring", r"a docstring without \*\*Source\*\*"),
    ValidatingConstructor: ("check_constructor_keeps_what_it_is_given", "ValueError: eps"),
    ConvertingConstructor: ("check_constructor_keeps_what_it_is_given", "got class_weight='<object"),
    NamelessErrors: ("check_errors_name_class_and_parameter", "'bad parameter' from fit with C=0"),
    NoCheck: ("check_errors_name_class_and_parameter", "fit with C=0: got an access to the data"),
    Unpicklable: ("check_pickle", "Can't pickle|Can't get local"),
    ForgetsWhenPickled: ("check_pickle", "got after pickling: intercept_: "),
    FitsByChance: ("check_random_state", "random_state=7 twice: "),
    CountsThreads: ("check_n_jobs", "n_jobs=1 and n_jobs=2: "),
    IgnoresWeights: ("check_weights", "the same scores from weights of 1 and 9"),
    WritesToX: ("check_data_are_left_alone", "got another X after fit, expected X unchanged"),
    ChangesItsParameters: ("check_data_are_left_alone", "got eps=0.02 after fit, expected eps=0.01"),
    Remembers: ("check_refit_forgets", "a second fit and a first one: first_: "),
    ForgetsTheStream: ("check_partial_fit", "from chunks of 1"),
    PredictsAList: ("check_scikit_learn", "from scikit-learn's check_"),
    FailsWithoutAWord: ("check_scikit_learn", r"raise AssertionError, line \d+ of test_algorithms.py"),
}


@pytest.mark.parametrize("algorithm", BROKEN, ids=lambda algorithm: algorithm.__name__)
def test_broken_algorithm_fails_with_the_reason(algorithm):
    name, message = BROKEN[algorithm]
    ((check, arguments),) = [pair for pair in algorithm_checks(algorithm) if pair[0].__name__ == name]
    sentence = rf"(?s)^{algorithm.__name__} fails {name}: got .*, expected .*\.$"
    with pytest.raises(AssertionError, match=sentence) as raised:
        check(*arguments)
    assert re.search(message, str(raised.value), re.DOTALL), str(raised.value)


def test_a_name_is_checked_where_one_is_given(monkeypatch):
    monkeypatch.setattr(margins.registry, "_registered", {})
    margins.register("Mine_2", Documented)
    with pytest.raises(AssertionError, match="Documented fails check_name: got the name 'Mine_2'"):
        check_algorithm("Mine_2")
    with pytest.raises(ValueError, match="Did you mean 'pdm'"):
        check_algorithm("pmd")


def test_check_algorithm_runs_every_check_except_those_expected_to_fail():
    with pytest.raises(AssertionError, match="Unsourced fails check_docstring"):
        check_algorithm(Unsourced)
    with pytest.raises(TypeError, match="must be a class or a registered name. Got 3"):
        check_algorithm(3)
    every = {check.__name__ for check, _ in algorithm_checks(Unsourced)}
    left = {check.__name__ for check, _ in algorithm_checks(Unsourced, {"check_docstring": "None yet."})}
    assert every - left == {"check_docstring"}


def test_given_parameters_reach_every_instance():
    class Greedy(BaseMarginClassifier):
        """A perceptron that needs a threshold.

        **Source**: this test.
        """

        demand: float = parameter(Interval(0, 10), "The threshold.", default=0.0)

        def phases(self, run):
            if not self.demand:
                raise RuntimeError("demand is needed")
            yield Phase(Rules(FixedThreshold(self.demand), Additive(), NoShrink()))

    pairs = {check.__name__: (check, args) for check, args in algorithm_checks(Greedy, demand=2.0)}
    check, arguments = pairs["check_n_jobs"]
    check(*arguments)
    with pytest.raises(AssertionError, match="RuntimeError: demand is needed"):
        check(Greedy, {})


def test_maximum_margin_of_known_samples():
    assert maximum_margin(np.array([[3.0, 4.0]])) == pytest.approx(5)
    assert maximum_margin(np.array([[1.0, 0.0], [0.0, 1.0]])) == pytest.approx(2**-0.5)
    assert maximum_margin(np.array([[1.0, 2.0], [-1.0, 2.0], [5.0, 2.0]])) == (pytest.approx(2))
    # scipy.optimize.nnls 1.17 leaves this one at 3.48.
    data = np.array([[1.0, 1, 1, 2], [3, 0, 0, 2], [1, 2, 3, 2], [2, 0, 1, 2]])
    assert maximum_margin(data) == pytest.approx(math.sqrt(7))
    assert maximum_margin(np.array([[1.0, 0.0], [-2.0, 0.0]])) == 0
    assert maximum_margin(np.array([[1.0, 0.0], [-1.0, 1.0], [-1.0, -1.0]])) == 0


@pytest.mark.slow
def test_checks_need_no_test_framework():
    code = (
        "import sys; sys.modules['pytest'] = sys.modules['hypothesis'] = None; "
        "from margins.testing import algorithm_checks, check_rule; "
        "from margins.rules import Mistake; check_rule(Mistake()); "
        "[check(*args) for check, args in algorithm_checks('pdm')[:6]]; print('checked')"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.strip() == "checked", result.stderr
