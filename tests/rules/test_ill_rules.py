"""An ill rule never passes silently: it ends a fit by an error, or without convergence, and why."""

import math
import pickle

import numpy as np
import pytest
from sample_problems import data_of
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import margins
from margins._activeset import ActiveSets
from margins._update import WeightVector
from margins.algorithms.averaged_perceptron import AveragedPerceptron
from margins.estimators.base import BaseMarginClassifier
from margins.estimators.maximum_margin import MaximumMarginClassifier
from margins.rules import (
    Additive,
    ConstantDecay,
    FixedThreshold,
    HarmonicDecay,
    Mistake,
    NoShrink,
    Python,
    RuleError,
    Rules,
    SubgradientStep,
)
from margins.solvers._dual_cd import ShrinkingPasses
from margins.solvers._mini_batch import MiniBatches
from margins.solvers.base import Phase
from margins.solvers.custom._budget import Cache
from margins.solvers.schedules import NESTED_SETS

NAN = math.nan


def nan_after(t_last, value):
    return lambda t: NAN if t > t_last else value


ILL = {
    "NaN threshold": ((lambda: NAN, Additive(), NoShrink()), "condition", "above -inf. Got nan"),
    "late NaN threshold": ((nan_after(5, 0.0), Additive(most=1), NoShrink()), "condition", "Got nan"),
    "threshold of -inf": ((lambda: -math.inf, Additive(), NoShrink()), "condition", "Got -inf"),
    "NaN for 1": ((lambda label: NAN if label > 0 else 0.0, Additive(), NoShrink()), "condition", "nan"),
    "NaN update": ((Mistake(), lambda: NAN, NoShrink()), "update", "multiples of a sample. Got nan"),
    "late NaN update": ((Mistake(), nan_after(3, 1.0), NoShrink()), "update", "Got nan"),
    "infinite update": ((Mistake(), lambda: math.inf, NoShrink()), "update", "Got inf"),
    "update that overflows": ((Mistake(), lambda: 1e300, NoShrink()), "update", "range of a double"),
    "NaN shrink": ((Mistake(), Additive(), lambda: NAN), "shrink", "finite factors. Got nan"),
    "late NaN shrink": ((Mistake(), lambda: 1.0, nan_after(3, 0.9)), "shrink", "Got nan"),
}


class Custom(BaseMarginClassifier):
    """By any rules."""

    rules = (Mistake(), Additive(most=1), NoShrink())
    levels = ()

    def phases(self, run):
        yield Phase(Rules(*self.rules), self.levels)


def custom(*rules, base=Custom, **params):
    params = {"random_state": 0, "max_iter": 40, **params}
    return type("Custom", (base,), {"rules": rules, "__module__": __name__})(**params)


def data_set(m=40):
    X = np.random.default_rng(0).normal(size=(m, 3))
    return X, X @ [1, -2, 1] > 0.3


@pytest.mark.parametrize(("rules", "kind", "message"), ILL.values(), ids=ILL)
@pytest.mark.parametrize(
    ("levels", "of"),
    [((), sparse.csr_array), (NESTED_SETS, np.asarray)],
    ids=["plain epochs, CSR", "active sets, dense"],
)
def test_a_number_that_is_not_finite_ends_the_fit(rules, kind, message, levels, of):
    X, y = data_set()
    classifier = custom(*rules, C=math.inf)
    classifier.levels = levels
    with pytest.raises(RuleError, match=message) as raised:
        classifier.fit(of(X), y)
    error = raised.value
    assert isinstance(error, ValueError) and f"'{kind}'" in error.rule
    assert error.algorithm == "Custom" and 0 <= error.sample < len(X)
    assert f"{error.rule} of Custom must" in str(error) and f"at sample {error.sample}." in str(error)
    assert not hasattr(classifier, "coef_")


def test_a_decay_that_is_not_finite_ends_the_fit():
    rule = ConstantDecay(0.1)
    rule.__setstate__((NAN,))  # rejected by its constructor
    message = r"ConstantDecay\(lam=nan\) of Custom must return finite factors"
    with pytest.raises(RuleError, match=message):
        custom(FixedThreshold(0), Additive(most=1), rule, C=math.inf).fit(*data_set())


def test_thresholds_are_checked_after_a_decay_too():
    rules = (nan_after(60, -1e9), Additive(most=1), ConstantDecay(0.1))  # t counts samples there
    with pytest.raises(RuleError, match="'condition'.*Got nan"):
        custom(*rules, C=math.inf).fit(*data_set())


def test_the_sample_is_the_row_of_X():
    X, y = data_set()
    error = {}
    for name, weight in (("all", np.ones(40)), ("some", np.r_[np.zeros(10), np.ones(30)])):
        with pytest.raises(RuleError) as raised:
            rules = (FixedThreshold(1.0), lambda index: NAN if index == 7 else 1e-3, NoShrink())
            custom(*rules).fit(X, y, weight)
        error[name] = raised.value.sample
    assert error == {"all": 7, "some": 17}


def test_the_algorithm_is_named_as_in_the_registry(monkeypatch):
    monkeypatch.setattr(margins.registry, "_registered", {})
    classifier = custom(lambda: NAN, Additive(), NoShrink())
    margins.register("my-perceptron", type(classifier))
    with pytest.raises(RuleError, match="of my-perceptron must") as raised:
        classifier.fit(*data_set())
    again = pickle.loads(pickle.dumps(raised.value))
    assert str(again) == str(raised.value) and again.sample == raised.value.sample


def test_one_of_several_classes_ends_the_fit():
    X, _ = data_set()
    for n_jobs in (1, 2):
        with pytest.raises(RuleError, match="of Custom must"):
            custom(lambda: NAN, Additive(), NoShrink(), n_jobs=n_jobs).fit(X, np.arange(40) % 3)


@pytest.mark.parametrize("zero", [0.0, -3.0])
@pytest.mark.parametrize("base", [Custom, type("Proving", (Custom, MaximumMarginClassifier), {})])
def test_a_rule_that_never_moves_has_not_converged(base, zero):
    X, y = data_set()
    classifier = custom(Mistake(), lambda: zero, NoShrink(), base=base)
    message = r"40 samples .* misclassified by Mistake\(\), and Python"
    with pytest.warns(ConvergenceWarning, match=message):
        classifier.fit(X, y)
    assert not classifier.converged_ and classifier.n_iter_ == 1 and classifier.n_updates_ == 0


def test_a_rule_that_does_not_move_one_sample_has_not_converged():
    X, y = data_set()
    rule = Python(lambda index: 0.0 if index == 7 else 1.0, "update")
    X[7] = 0
    with pytest.warns(ConvergenceWarning, match="1 sample below the upper bound .* is misclassified by"):
        classifier = custom(Mistake(), rule, NoShrink(), C=math.inf, max_iter=1000).fit(X, ~y)
    assert not classifier.converged_ and classifier.n_updates_ > 0


def test_samples_at_their_upper_bounds_may_stay_misclassified():
    class Bounded(Custom):
        def phases(self, run):
            run.bound_dual(2.0)
            yield from super().phases(run)

    X, y = data_set()
    y[:4] = ~y[:4]  # not separable any more
    rules = (FixedThreshold(1.0), lambda: 1.0, NoShrink())
    classifier = custom(*rules, base=Bounded, C=1e3, max_iter=1000).fit(X, y)
    assert classifier.converged_ and classifier.learning_curve_[0][-1].mistakes > 0
    assert classifier.dual_coef_.max() > 0


def test_a_stream_that_was_ended_by_a_rule_restarts():
    class Stream(AveragedPerceptron):
        value = 1.0

        def online_rules(self, sqradius):
            value = self.value
            return Rules(Mistake(), lambda: value, NoShrink())

    X, y = data_set()
    stream, fresh = Stream(), Stream()
    stream.partial_fit(X, y, [False, True])
    before = stream.coef_
    stream.value = NAN
    with pytest.raises(RuleError):
        stream.partial_fit(X[::-1], y[::-1])
    assert stream.coef_ is before
    stream.value = 1.0
    np.testing.assert_array_equal(
        stream.partial_fit(X, y).coef_, fresh.partial_fit(X, y, [False, True]).coef_
    )


# --------------------------------------------------------------------------------------- other loops

LOOPS = {
    "active sets": lambda m: ActiveSets((), m),
    "dual coordinate descent": lambda m: ShrinkingPasses(0, 3),
    "cache": lambda m: Cache(5),
}


def epoch_of(loop, *rules):
    """One epoch over 40 samples: the loop, and how many samples changed the weight vector."""
    X, y = data_set()
    data = data_of(X, np.where(y, 1.0, -1.0))
    loop = loop(len(X))
    weights, order = WeightVector(X.shape[1], len(X)), np.arange(len(X), dtype=np.int32)
    return loop, loop.full_epoch(data, weights, Rules(*rules), order)


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
@pytest.mark.parametrize("rules", [rules for rules, *_ in ILL.values()], ids=ILL)
def test_every_loop_ends_at_the_first_failure(loop, rules):
    with pytest.raises(RuleError) as raised:
        epoch_of(loop, *rules)
    assert 0 <= raised.value.sample < 40 and not abs(raised.value.got) < math.inf


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_every_loop_counts_samples_that_no_rule_moves(loop):
    made, n_changed = epoch_of(loop, Mistake(), lambda index: 0.0, NoShrink())
    assert n_changed == 0 and made.n_unmoved == 40
    made, n_changed = epoch_of(loop, Mistake(), lambda: 1.0, NoShrink())
    assert n_changed > 0 and made.n_unmoved == 0


@pytest.mark.parametrize("condition", [lambda: NAN, lambda t: NAN if t else 1.0])
def test_mini_batches_end_at_the_first_failure(condition):
    with pytest.raises(RuleError, match="thresholds above -inf"):
        epoch_of(lambda m: MiniBatches(4), condition, SubgradientStep(0.1), HarmonicDecay())
