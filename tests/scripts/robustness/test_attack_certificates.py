"""Certificates of adversarial problems, by exact arithmetic: a sample of what the script tries."""

import math
from fractions import Fraction

import attack_certificates as attack
import numpy as np
import pytest

# Samples whose slacks are differences of nearly equal numbers, with a large C, a long row, or both; and
# sums of kernel rows.
ROUNDED = (187, 348, 496, 855, 875, 1158, 1343, 1641, 1834, 2348, 2566, 2774, 2938, 3016, 3127, 3134)

# (seed, problem): dual variables of 1e9 that cancel, some so large that their products overflow, and
# certificates of a multiple at which samples count that did not before.
KERNELS = [(8, 2808), (8, 7716), (8, 64647), (8, 67224)]


@pytest.mark.parametrize("begin", range(0, 40, 20))
def test_no_bound_of_a_sample_of_adversarial_problems_is_false(begin):
    pytest.importorskip("clarabel")
    for index in range(begin, begin + 20):
        _, faults = attack.check(index)
        assert faults == []


def test_small_problems_agree_with_their_rational_optima():
    # With scores by lost digits.
    for index in (*range(12), 140):
        counts, faults = attack.check_exactly(index)
        assert faults == [] and (index != 140 or counts["other scores"] == 0)


@pytest.mark.slow
def test_no_bound_of_many_adversarial_problems_is_false():
    pytest.importorskip("clarabel")
    assert attack.main(["--begin", "40", "--count", "1520"]) == 0


@pytest.mark.parametrize(("seed", "index"), [(0, index) for index in ROUNDED] + KERNELS)
def test_rounding_makes_no_bound_false(seed, index):
    _, faults = attack.check(index, seed, use_reference=False)
    assert faults == []


def test_a_false_bound_is_found():
    problem = attack.problem_of(0)
    attempt = next(a for a in attack.attempts_of(problem, 0) if a.classifier is not None)
    classifier = attempt.classifier
    exact = attempt.problem.objective(attempt.problem.model_of(classifier))
    assert attack.faults_of(attempt, [exact]) == []
    classifier.certificates_ = [
        attack.margins.certificate.Certificate.from_bounds(2 * float(exact), 1.5 * float(exact), 1)
    ]
    faults = " ".join(attack.faults_of(attempt, [exact]))
    assert all(word in faults for word in ("primal", "dual", "upper_bound"))


def test_a_range_of_problems_does_not_depend_on_earlier_problems(capsys):
    outputs = []
    for _ in range(2):
        assert attack.main(["--begin", "5", "--count", "2", "--no-reference"]) == 0
        outputs.append(capsys.readouterr().out.rpartition("false: 0")[0])
    assert outputs[0] == outputs[1]


def test_a_kernel_has_the_objective_of_its_features():
    samples = np.array([[1.0, 2.0], [3.0, -1.0]]), np.array([1, -1]), None
    problem = attack.Problem(*samples, 1.0, 2.0, "squared_hinge", "precomputed")
    linear = attack.Problem(*samples, 1.0, 2.0, "squared_hinge", "linear")
    weights, bias = [Fraction(1, 3), Fraction(-1, 5)], Fraction(1, 7)
    combination = [
        sum(a * row[j] for a, row in zip(weights, [(1, 2), (3, -1)], strict=True)) for j in (0, 1)
    ]
    assert problem.objective((weights, bias)) == linear.objective((combination, bias))
    assert problem.objective(([0, 0], Fraction(0))) == 2
    hard = attack.Problem(*samples, math.inf, 0.0, "squared_hinge", "linear")
    assert hard.objective(([Fraction(-1), Fraction(1)], Fraction(0))) == 1  # products 1 and 4
    assert hard.objective(([Fraction(1), Fraction(1)], Fraction(0))) == math.inf
