"""Fits of noise-tolerant perceptrons compared with the runs of their oracle."""

import functools
import math
from itertools import product

import numpy as np
import oracles_noise_tolerant as oracle
import problems
import pytest
import sample_problems
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from properties import examples

import margins

clouds = functools.partial(problems.clouds, m=80)
SETTINGS = examples(5)
SEEDS = st.integers(0, 99)


# Whole numbers keep all sums on integer samples exact.
WHOLE = {"eta": 1.0, "theta_init": 4.0, "intercept_scaling": 2.0}
OPTIONS = [
    {"tau": tau, "lam": lam, "alpha_bound": alpha_bound}
    for tau, lam, alpha_bound in product([0.0, 0.5, 2.0], [0.0, 1.0], [math.inf, 1, 3])
]
LINEAR_AVERAGINGS = {  # whatever is one hypothesis, hence has coef_
    "last": {"averaging": "last"},
    "longest": {"averaging": "longest"},
    "averaged": {"averaging": "averaged", "weighting": "votes"},
    "averaged, accesses": {"averaging": "averaged", "weighting": "accesses"},
    "pocket": {"averaging": "pocket"},
}
AVERAGINGS = LINEAR_AVERAGINGS | {
    "voted": {"averaging": "voted"},
    "tail": {"averaging": "tail", "validation_fraction": 0.25},
}


# What is a mean or a maximum over the training set is not said where samples are held out.
OF_ALL_SAMPLES = {key: value for key, value in AVERAGINGS.items() if key != "tail"}


def some(averagings):
    return pytest.mark.parametrize("averaging", averagings.values(), ids=averagings.keys())


def perceptron(**params):
    return margins.get("perceptron")(**params)


def accesses(m, shuffle, max_iter, seed, n_held_out=0):
    """The samples held out, and the orders of the epochs, as the package draws them."""
    generator = np.random.default_rng(sample_problems.seed_of(seed))
    order = np.arange(m, dtype=np.int32)
    if shuffle != "never":
        generator.shuffle(order)
    held_out, order = order[:n_held_out].copy(), order[n_held_out:].copy()
    orders = [order.copy()]
    for _ in range(1, max_iter):
        if shuffle == "epochs":
            generator.shuffle(order)
        orders.append(order.copy())
    return held_out, orders


def replay(classifier, X, y, gram=None, weight=None):
    """The oracle's run with the classifier's parameters: (trace, start of the tail) of each problem."""
    params = classifier.get_params()
    tail = params["averaging"] == "tail"
    n_held_out = math.ceil(params["validation_fraction"] * len(X)) if tail else 0
    held_out, orders = accesses(
        len(X), params["shuffle"], params["max_iter"], params["random_state"], n_held_out
    )
    options = {key: params[key] for key in ("lam", "alpha_bound", "eta") if key in params}
    if "tau" in params:
        unit, theta_init = params["theta_init"], params["theta_init"]
        options["tau"] = params["tau"]
    else:  # PAUM
        unit, theta_init = max(x @ x for x in X), 0.0
        options["tau"] = {+1: params["tau_positive"], -1: params["tau_negative"]}
    if params["fit_intercept"]:
        options |= {"theta_init": theta_init, "C": params["intercept_scaling"] ** 2, "unit": unit}
    else:
        options |= {"theta_init": 0.0, "C": 0.0, "unit": unit}
    taus = options["tau"].values() if isinstance(options["tau"], dict) else [options["tau"]]
    if weight is not None and (options["theta_init"] or any(tau * unit for tau in taus)):
        weight = weight / weight.mean()  # thresholds are in units of updates
    options["weight"] = weight
    problems = []
    for labels in oracle.one_vs_rest(y):
        if gram is None:
            trace = oracle.train(X, labels, orders, **options)
        else:
            trace = oracle.train_dual(gram, labels, orders, **options)
        rows = X if gram is None else gram
        start = oracle.tail_start(trace, rows[held_out], labels[held_out]) if tail else 0
        problems.append((trace, start))
    return problems


def hypothesis_of(trace, classifier):
    """The one hypothesis that is read out."""
    if classifier.averaging == "averaged":
        return oracle.averaged(trace, classifier.weighting)
    return {"last": oracle.last, "longest": oracle.longest, "pocket": oracle.pocket}[
        classifier.averaging
    ](trace)


def assert_replays(classifier, problems, queries, rows=None, err_msg=""):
    """All that the fit has found is the oracle's, bit for bit.

    queries   points to be classified
    rows      the same in the oracle's terms, if they differ: rows of the Gram matrix
    """
    rows = queries if rows is None else rows
    votes = classifier.averaging in ("voted", "tail")
    traces = [trace for trace, _ in problems]
    assert_counts(classifier, traces, err_msg)
    if votes or hasattr(classifier, "votes_"):
        assert_votes(classifier, problems, err_msg)
    if votes:
        assert not hasattr(classifier, "coef_")
        expected = [oracle.voted_scores(trace, rows, start) for trace, start in problems]
    else:
        hypotheses = [hypothesis_of(trace, classifier) for trace in traces]
        expected = [oracle.scores(hypothesis, rows) for hypothesis in hypotheses]
        assert_hypotheses(classifier, hypotheses, err_msg)
    expected = expected[0] if len(expected) == 1 else np.column_stack(expected)
    scores = classifier.decision_function(queries)
    assert scores.dtype == np.float64
    if classifier.averaging == "averaged":  # a mean is no whole number: sums of its products are rounded
        assert_allclose(scores, expected, rtol=1e-12, atol=1e-11, err_msg=err_msg)
    else:
        assert_array_equal(scores, expected, err_msg=err_msg)
    chosen = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
    assert_array_equal(classifier.predict(queries), classifier.classes_[chosen], err_msg=err_msg)


def assert_counts(classifier, traces, err_msg=""):
    """Updates and learning curves are the oracle's, and no update is missing after an early end."""
    assert type(classifier.n_updates_) is int
    assert classifier.n_updates_ == sum(len(trace.mistakes) for trace in traces), err_msg
    assert len(classifier.learning_curve_) == len(traces)
    lengths = []
    for curve, trace in zip(classifier.learning_curve_, traces, strict=True):
        found = [(record.epoch, record.updates, record.mistakes) for record in curve]
        n_epochs = len(trace.updates_after_epoch)
        expected = list(
            zip(range(1, n_epochs + 1), trace.updates_after_epoch, trace.mistakes_of_epoch, strict=True)
        )
        assert found == expected[: len(found)], err_msg
        assert found, err_msg
        assert len(found) == n_epochs or found[-1][1] == len(trace.mistakes), err_msg
        lengths.append(len(found))
    assert classifier.n_iter_ == max(lengths), err_msg


def assert_votes(classifier, problems, err_msg=""):
    assert len(classifier.votes_) == len(classifier.mistakes_) == len(problems)
    distinct = sorted({j for trace, _ in problems for j in trace.mistakes})
    assert_array_equal(classifier.support_, distinct, err_msg=err_msg)
    for votes, mistakes, (trace, start) in zip(
        classifier.votes_, classifier.mistakes_, problems, strict=True
    ):
        assert votes.dtype == np.float64 and votes.shape == (len(trace.mistakes) + 1,)
        assert mistakes.dtype == np.int32 and mistakes.shape == (len(trace.mistakes),)
        assert_array_equal(votes[start:], trace.votes[start:], err_msg=err_msg)
        assert_array_equal(classifier.support_[mistakes], trace.mistakes, err_msg=err_msg)


def assert_hypotheses(classifier, hypotheses, err_msg=""):
    expected = np.stack([w for w, _ in hypotheses])
    if hasattr(classifier, "coef_"):
        assert_array_equal(classifier.coef_, expected, err_msg=err_msg)
    else:  # a kernel's: signed coefficients of training samples
        assert classifier.dual_coef_.shape == (len(hypotheses), len(classifier.support_))
        found = np.zeros_like(expected)
        found[:, classifier.support_] = classifier.dual_coef_
        assert_array_equal(found, expected, err_msg=err_msg)
    intercepts = [-theta for _, theta in hypotheses]
    if classifier.averaging == "averaged":  # theta_init may be added to a mean that is rounded already
        assert_allclose(classifier.intercept_, intercepts, rtol=1e-13, atol=1e-13, err_msg=err_msg)
    else:
        assert_array_equal(classifier.intercept_, intercepts, err_msg=err_msg)


def without_zero_rows(X):
    """The package rejects them if nothing can be learned from them."""
    X = X.copy()
    X[~X.any(axis=1), 0] = 1
    return X


def queries_of(X, seed, n_rows=12):
    """Whole test rows, the training samples among them."""
    rows = np.random.default_rng(seed).integers(-5, 6, (n_rows, X.shape[1])).astype(float)
    return np.vstack([X, rows])


@st.composite
def problems_of_three(draw):
    """X (m, d) of small integers and labels of three classes, all of them present."""
    X, _ = draw(sample_problems.problems(max_samples=9))
    X = np.vstack([X, X[:1] - 1])
    y = np.array(draw(st.lists(st.integers(0, 2), min_size=len(X), max_size=len(X))))
    y[:3] = draw(st.permutations(range(3)))
    return X, np.array(["ant", "bee", "cat"])[y]


KW = {"eta": 0.1, "theta_init": None, "intercept_scaling": None, "shuffle": "once", "max_iter": 100}
