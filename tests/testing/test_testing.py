"""The checks for authors: everything built in passes, and faults of broken classes are named."""

import dataclasses
import inspect
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
from margins.rules import (
    Additive,
    Average,
    BallStep,
    ConstantDecay,
    ConstantShrink,
    CoordinateStep,
    DynamicMargin,
    FallingMargin,
    FixedMargin,
    FixedThreshold,
    HarmonicDecay,
    LengthPower,
    LongestSurvivor,
    MarginError,
    Mistake,
    MistakeHistory,
    NormalisedStep,
    NoShrink,
    PassiveAggressive,
    Pocket,
    Python,
    RelaxedMargin,
    Rules,
    Shifting,
    ShrunkThreshold,
    SubgradientStep,
    SuffixAverage,
    UnevenThreshold,
    UnitMargin,
    Unlearning,
    UpdatePower,
    VariableShrink,
)
from margins.solvers.base import Phase
from margins.testing import algorithm_checks, check_algorithm, check_rule, rule_checks

SAMPLED = ["averaged-perceptron", "pdm"]  # tests/estimators has scikit-learn's checks of all
HARD_MARGIN = {"pfm": {"C": math.inf, "gamma": 0.1}}  # requires a margin there
EXPECTED = {
    "pocket": {"check_partial_fit": "The ratchet counts over the samples at hand: those of a chunk."}
}


def checks_of_all():
    for name in margins.available():
        for params in ({}, HARD_MARGIN.get(name)):
            if params is None:
                continue
            for check, arguments in algorithm_checks(name, EXPECTED.get(name), **params):
                if check.__name__ != "check_scikit_learn" or name in SAMPLED:
                    kind = " with C=inf" if params else ""
                    yield pytest.param(check, arguments, id=f"{name}{kind}, {check.__name__}")


@pytest.mark.parametrize(("check", "arguments"), list(checks_of_all()))
def test_registered_algorithm_passes_the_checks(check, arguments):
    check(*arguments)


RULES = [
    Mistake(),
    FixedThreshold(3),
    UnevenThreshold(1, -2),
    FixedMargin(0),
    FixedMargin(0.5),
    DynamicMargin(0.1),
    DynamicMargin(1),
    Unlearning(3, 60),
    ShrunkThreshold(3, ConstantShrink(0.01)),
    ShrunkThreshold(3, VariableShrink(1)),
    ShrunkThreshold(5, VariableShrink(3)),
    NoShrink(),
    ConstantShrink(0.01),
    VariableShrink(0),
    VariableShrink(1),
    VariableShrink(12),
    Additive(),
    Additive(eta=0.5, most=7),
    Additive(most=1),
    UnitMargin(),
    MarginError(),
    MarginError(-0.5),
    FallingMargin(2, 0.5),
    LengthPower(2, 0.5),
    LengthPower(2, 0),
    LengthPower(2, 1.5),
    UpdatePower(3, 0.5),
    UpdatePower(3, 0),
    UpdatePower(3, 1),
    ConstantDecay(0.01),
    HarmonicDecay(),
    NormalisedStep(0.5),
    NormalisedStep(0.5, 0.7),
    RelaxedMargin(),
    Shifting(1),
    Shifting(2.5),
    BallStep(0.5),
    CoordinateStep(),
    CoordinateStep(eta=0.01),
    PassiveAggressive(),
    PassiveAggressive(most=0.5),
    PassiveAggressive(slack=2),
    SubgradientStep(0.1),
    SubgradientStep(0.1, project=True),
    Python(lambda sqnorm, t, dual_sum, label: 0.5 * sqnorm / t if t else 0.0),
    Python(lambda: 0.9, "shrink"),
    Python(lambda: 1.0, "update"),
]
NO_BOUNDS = {"check_dual_variables_keep_their_bounds": "Its algorithm gives no upper bounds."}
EXPECTED_OF_RULES = {
    BallStep: NO_BOUNDS,
    SubgradientStep: NO_BOUNDS,
    RelaxedMargin: {
        "check_dual_variables_keep_their_bounds": "Made for products below 1; the check's go up to 40."
    },
}
AVERAGINGS = {
    "longest": LongestSurvivor,
    "pocket": Pocket,
    "average": Average,
    "average of accesses": lambda weights: Average(weights, "accesses"),
    "average of late ones": lambda weights: SuffixAverage(weights, 3, 2.5),
    "journal": lambda weights: MistakeHistory(),
}


BASE_CLASSES = ("margins.rules._base", "margins.rules._averaging", "margins.rules.errors")


def test_every_built_in_rule_is_checked():
    kinds = {type(rule) for rule in RULES} | {
        LongestSurvivor,
        Pocket,
        Average,
        SuffixAverage,
        MistakeHistory,
    }
    ours = {
        rule
        for rule in vars(margins.rules).values()
        if inspect.isclass(rule) and rule.__module__ not in BASE_CLASSES
    }
    assert not {rule.__name__ for rule in ours - kinds}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: re.sub(r" at 0x\w+", "", repr(rule)))
def test_rule_passes_the_checks(rule):
    check_rule(rule, EXPECTED_OF_RULES.get(type(rule)))


@pytest.mark.parametrize("rule", EXPECTED_OF_RULES, ids=lambda rule: rule.__name__)
def test_check_of_a_rule_fails_where_a_failure_is_expected(rule):
    example = next(one for one in RULES if type(one) is rule)
    for check, arguments in rule_checks(example):
        if check.__name__ in EXPECTED_OF_RULES[rule]:
            with pytest.raises(AssertionError, match=check.__name__):
                check(*arguments)


@pytest.mark.parametrize("make", AVERAGINGS.values(), ids=AVERAGINGS)
def test_averaging_passes_the_checks(make):
    check_rule(make)


# ------------------------------------------------------------------------------- broken algorithms


class Documented(DynamicMarginPerceptron):
    """As the perceptron with dynamic margin.

    **Source**: this test.
    """


def changed(classifier, **changes):
    """The certificates, with some numbers changed by functions of a certificate."""
    classifier.certificates_ = [
        dataclasses.replace(one, **{key: change(one) for key, change in changes.items()})
        for one in classifier.certificates_
    ]
    return classifier


class BoastfulMargin(Documented):
    def fit(self, X, y, sample_weight=None):
        return changed(super().fit(X, y, sample_weight), margin=lambda one: 1.2 * abs(one.margin) + 0.1)


class LowUpperBound(Documented):
    def fit(self, X, y, sample_weight=None):
        return changed(super().fit(X, y, sample_weight), upper_bound=lambda one: 0.5 * one.upper_bound)


class BoastfulFraction(Documented):
    def fit(self, X, y, sample_weight=None):
        return changed(super().fit(X, y, sample_weight), fraction=lambda one: 1.0)


class BoastfulDual(Documented):
    def fit(self, X, y, sample_weight=None):
        return changed(super().fit(X, y, sample_weight), dual=lambda one: 2 * one.dual)


class OtherWeights(Documented):
    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.coef_ = self.coef_[:, ::-1] + 1
        return self


class SaysItHasConverged(Documented):
    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.converged_ = True
        return self


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
    def _check_parameters(self):
        try:
            super()._check_parameters()
        except ValueError:
            raise ValueError("bad parameter") from None


class NoCheck(Documented):
    def _check_parameters(self):
        pass


class Unpicklable(Documented):
    def fit(self, X, y, sample_weight=None):
        self.reason_ = lambda: None
        return super().fit(X, y, sample_weight)


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


class WritesToX(Documented):
    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        X[0] *= 2
        return self


class ChangesItsParameters(Documented):
    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.eps = 2 * self.eps
        return self


class Remembers(Documented):
    def fit(self, X, y, sample_weight=None):
        self.first_ = getattr(self, "first_", X.shape)
        return super().fit(X, y, sample_weight)


class ForgetsTheStream(AveragedPerceptron):
    """As the averaged perceptron.

    **Source**: this test.
    """

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        self._streams = None
        return super().partial_fit(X, y, [0, 1], sample_weight)


class PredictsAList(Documented):
    def predict(self, X):
        return list(super().predict(X))


class NoCertificate(Documented):
    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        del self.certificates_
        return self


class Undeclared:
    """A classifier of a third party.

    **Source**: this test.
    """

    def fit(self, X, y):
        return self


BROKEN = {
    BoastfulMargin: ("check_certificates", "got margin .*, expected at most "),
    LowUpperBound: ("check_certificates", "got upper_bound .*, expected at least the maximum margin"),
    BoastfulFraction: ("check_certificates", "got fraction 1.0, expected at most "),
    BoastfulDual: ("check_certificates", "got dual .*, expected at most the optimum"),
    OtherWeights: ("check_certificates", "what the best multiple of coef_ and intercept_ attains"),
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
    WritesToX: ("check_data_are_left_alone", "got another X after fit, expected X unchanged"),
    ChangesItsParameters: ("check_data_are_left_alone", "got eps=0.02 after fit, expected eps=0.01"),
    Remembers: ("check_refit_forgets", "a second fit and a first one: first_: "),
    ForgetsTheStream: ("check_partial_fit", "from chunks of 1"),
    PredictsAList: ("check_scikit_learn", "from scikit-learn's check_"),
}


@pytest.mark.parametrize("algorithm", BROKEN, ids=lambda algorithm: algorithm.__name__)
def test_checks_of_a_broken_algorithm_name_the_fault(algorithm):
    name, message = BROKEN[algorithm]
    ((check, arguments),) = [pair for pair in algorithm_checks(algorithm) if pair[0].__name__ == name]
    sentence = rf"(?s)^{algorithm.__name__} fails {name}: got .*, expected .*\.$"
    with pytest.raises(AssertionError, match=sentence) as raised:
        check(*arguments)
    assert re.search(message, str(raised.value), re.DOTALL), str(raised.value)


def test_the_base_of_the_broken_algorithms_passes_the_checks():
    for check, arguments in algorithm_checks(Documented):
        if check.__name__ != "check_scikit_learn":
            check(*arguments)


def test_a_name_is_checked_where_one_is_given(monkeypatch):
    monkeypatch.setattr(margins.registry, "_registered", {})
    margins.register("Mine_2", Documented)
    with pytest.raises(AssertionError, match="Documented fails check_name: got the name 'Mine_2'"):
        check_algorithm("Mine_2")
    with pytest.raises(ValueError, match="Did you mean 'pdm'"):
        check_algorithm("pmd")


def test_check_algorithm_runs_every_check_but_those_expected_to_fail():
    with pytest.raises(AssertionError, match="Unsourced fails check_docstring"):
        check_algorithm(Unsourced)
    with pytest.raises(TypeError, match="must be a class or a registered name. Got 3"):
        check_algorithm(3)
    every = {check.__name__ for check, _ in algorithm_checks(Unsourced)}
    left = {check.__name__ for check, _ in algorithm_checks(Unsourced, {"check_docstring": "None yet."})}
    assert every - left == {"check_docstring"}


def test_given_parameters_reach_every_instance():
    class Greedy(BaseMarginClassifier):
        """A perceptron that requires a margin.

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


# ------------------------------------------------------------------------------------- broken rules


class Wordless(FixedThreshold):
    __repr__ = object.__repr__


class CountsItsQuestions(FixedThreshold):
    n_calls = 0

    def _py_threshold(self, state=None, positive=True):
        type(self).n_calls += 1
        return float(self.n_calls)


class LooksAtTheScale(FixedThreshold):
    def _py_threshold(self, state=None, positive=True):
        return (state or {}).get("scale", 1.0)


class LowCeiling(Unlearning):
    def _py_ceiling(self, state=None, positive=True):
        return self.b - 1


class SecretCeiling(FixedThreshold):
    def _py_ceiling(self, state=None, positive=True):
        return 1e6


class WrongClosedForm(ShrunkThreshold):
    """Repeats as if the weight vector shrank, which it does not."""

    shrink = NoShrink()

    def repeats_with(self, shrink):
        return True


class WrongRepeat(ConstantShrink):
    def _py_repeat(self, repetitions, state=None):
        shrunk, added = super()._py_repeat(repetitions, state)
        return shrunk, added * (1 + 1e-6 * (repetitions > 1))


class WrongShrinkOfRepeat(ConstantShrink):
    def _py_repeat(self, repetitions, state=None):
        shrunk, added = super()._py_repeat(repetitions, state)
        return shrunk**2, added


class NoIdentity(ConstantShrink):
    is_identity = True


def chance():
    generator = np.random.default_rng(0)
    return Python(lambda: generator.random(), "update")


BROKEN_RULES = {
    "wordless": (lambda: Wordless(1), "check_repr: got the repr"),
    "NaN": (
        lambda: Python(lambda: math.nan),
        "check_thresholds: got a threshold of nan at the start, label -1, expected a finite number",
    ),
    "minus infinity": (lambda: Python(lambda: -math.inf), "got a threshold of -inf at the start"),
    "infinity": (lambda: FixedThreshold(math.inf), "got a threshold of inf at t=1, "),
    "raises": (lambda: Python(lambda: 1 / 0), "got a threshold of nan"),
    "counts its questions": (lambda: CountsItsQuestions(1), "check_thresholds_are_pure: .*one answer"),
    "looks at the scale": (lambda: LooksAtTheScale(1), "with scale=0.5 .*the weight vector is the same"),
    "low ceiling": (
        lambda: LowCeiling(3, 60),
        "check_ceilings: got an unlearning threshold of 2.0 .*more than the learning threshold, 3.0",
    ),
    "secret ceiling": (lambda: SecretCeiling(3), "expected inf, since `unlearns` is False"),
    "wrong closed form": (
        lambda: WrongClosedForm(40, ConstantShrink(0.2)),
        r"check_repetitions: got .* repetitions of an update .*expected \d+, as by single updates",
    ),
    "wrong number of additions": (
        lambda: WrongRepeat(0.1),
        "check_repeat: got a sample added 1.900001.* times for 2 updates at once at the start",
    ),
    "wrong factor of many": (
        lambda: WrongShrinkOfRepeat(0.1),
        "check_repeat: got a factor of 0.81.* for 1 updates at once at t=1, .*expected 0.9",
    ),
    "grows": (
        lambda: Python(lambda: 1.5, "shrink"),
        "check_factors: got a factor of 1.5 at the start, expected a number from 0 to 1",
    ),
    "forgets all": (lambda: Python(lambda: 0.0, "shrink"), "expected more: all would be forgotten"),
    "no identity": (lambda: NoIdentity(0.1), "got a factor of 0.9 .*expected 1, since `is_identity`"),
    "update by chance": (chance, "check_runs: got .* from two runs, expected the same"),
    "NaN shrink": (
        lambda: Python(lambda: math.nan, "shrink"),
        "check_factors: got a factor of nan at the start, expected a number from 0 to 1",
    ),
    "NaN update": (
        lambda: Python(lambda: math.nan, "update"),
        r"check_updates_are_finite: got nan at sample \d+ with Mistake\(\), expected finite numbers",
    ),
    "late NaN update": (
        lambda: Python(lambda t: math.nan if t == 20 else 1.0, "update"),
        r"check_updates_are_finite: got nan at sample \d+",
    ),
    "zero update": (
        lambda: Python(lambda: 0.0, "update"),
        "check_updates_move: got no update at 30 of 30 samples, all misclassified",
    ),
    "infinite update": (
        lambda: Python(lambda: math.inf, "update"),
        r"got inf at sample \d+ with Mistake\(\), expected finite numbers",
    ),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("make", "message"), BROKEN_RULES.values(), ids=BROKEN_RULES)
def test_checks_of_a_broken_rule_name_the_fault(make, message):
    rule = make()
    with pytest.raises(AssertionError, match=rf"(?s)^{type(rule).__name__} fails .*{message}"):
        check_rule(rule)


class SpoilsTheRun(LongestSurvivor):
    def hypothesis(self, a, data):
        a.rescale(2)
        return a


class ChangesItsMind(Average):
    def hypothesis(self, a, data):
        self.n_right += 1
        return super().hypothesis(a, data)


class LosesItsMemory(LongestSurvivor):
    def __reduce__(self):
        return super().__reduce__()[:2]  # without its state


BROKEN_AVERAGINGS = {
    SpoilsTheRun: "SpoilsTheRun fails check_averaging_looks_only: ",
    ChangesItsMind: "ChangesItsMind fails check_averaging_looks_only: got the hypotheses .* asked twice",
    LosesItsMemory: "LosesItsMemory fails check_averaging_is_pickled: got .* after pickling",
}


@pytest.mark.parametrize("make", BROKEN_AVERAGINGS, ids=lambda make: make.__name__)
def test_checks_of_a_broken_averaging_name_the_fault(make):
    with pytest.raises(AssertionError, match=f"(?s){BROKEN_AVERAGINGS[make]}"):
        check_rule(make)


def test_objects_other_than_rules_are_rejected():
    with pytest.raises(TypeError, match="rule must be a Condition, an Update, a Shrink, or a callable"):
        check_rule(3)
    with pytest.raises(TypeError, match="a callable that makes an Averaging"):
        check_rule(MistakeHistory())
    with pytest.raises(AssertionError, match="check_averaging_looks_only: got 3 from"):
        check_rule(lambda weights: 3)


def test_checks_of_a_rule_come_one_by_one():
    names = [check.__name__ for check, _ in rule_checks(Mistake())]
    assert "check_thresholds" in names and len(set(names)) == len(names)
    for check, arguments in rule_checks(Mistake()):
        check(*arguments)


def test_checks_need_no_test_framework():
    code = (
        "import sys; sys.modules['pytest'] = sys.modules['hypothesis'] = None; "
        "from margins.testing import algorithm_checks, check_rule; "
        "from margins.rules import Mistake; check_rule(Mistake()); "
        "[check(*args) for check, args in algorithm_checks('pdm')[:6]]; print('checked')"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.strip() == "checked", result.stderr
