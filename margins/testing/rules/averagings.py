"""Checks of averagings: they do not change the run, and pickling keeps their state."""

import pickle

import numpy as np

from margins._update import WeightVector
from margins.rules import Additive, Averaging, FixedThreshold, NoShrink, Rules
from margins.testing.reports import Violation, require
from margins.testing.rules.runs import check, numbers_of, run, samples

RULES = Rules(FixedThreshold(7), Additive(most=1), NoShrink())


def _made(make, weights):
    averaging = make(weights)
    if not isinstance(averaging, Averaging):
        raise Violation(f"{averaging!r} from {make!r}", "an Averaging")
    return averaging


def _read(averaging, weights, data):
    hypothesis = averaging.hypothesis(weights, data)
    require(isinstance(hypothesis, WeightVector), f"{hypothesis!r} as a hypothesis", "a WeightVector")
    return numbers_of(hypothesis)


@check
def check_averaging_looks_only(make):
    """An averaging changes no bit of a run, even if hypotheses are read during the run."""

    def read_twice(averaging, weights, data):
        first, second = (_read(averaging, weights, data) for _ in range(2))
        require(first == second, f"the hypotheses {first} and {second}, read twice", "one hypothesis")
        return averaging

    plain = numbers_of(run(samples(), RULES)[0])
    for between in (None, read_twice):
        weights, averaging = run(
            samples(), RULES, make_averaging=lambda a: _made(make, a), between=between
        )
        require(numbers_of(weights) == plain, f"{numbers_of(weights)} at the end of a run", f"{plain}")
        read = _read(averaging, weights, samples())
        require(np.isfinite(read).all(), f"the hypothesis {read}", "finite numbers")
        if between is None:
            expected = read
        else:
            require(
                read == expected,
                f"the hypothesis {read}, if others are read during the run",
                f"{expected}, as without",
            )


@check
def check_averaging_is_pickled(make):
    """An averaging that is pickled between two chunks continues as without pickling."""

    def reads_of(pass_on):
        reads = []

        def between(averaging, weights, data):
            counts = [averaging.n_right, averaging.n_accesses]
            reads.append([*counts, *_read(averaging, weights, data)])
            return pass_on(averaging)

        run(samples(), RULES, make_averaging=lambda a: _made(make, a), between=between)
        return reads

    direct = reads_of(lambda averaging: averaging)
    pickled = reads_of(lambda averaging: pickle.loads(pickle.dumps(averaging)))
    for chunk, (expected, got) in enumerate(zip(direct, pickled, strict=True)):
        require(got == expected, f"{got} after pickling and chunk {chunk}", f"{expected}, as without")
