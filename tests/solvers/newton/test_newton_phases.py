"""Newton steps among the other phases of a fit: what comes first, and what continues."""

import math

import numpy as np
import oracles
import pytest
from algorithm_groups import quiet
from numpy.testing import assert_allclose
from proven_by_hand import fit, optimum, sides
from sample_problems import clouds

import margins
from margins.solvers.auto import Costs
from margins.solvers.driver import Run
from margins.solvers.newton import newton

Auto = margins.MarginClassifier
LOSSES = ("squared_hinge", "hinge")
each_loss = pytest.mark.parametrize("loss", LOSSES)
PAPERS = ("pdm", "pdm-succ", "mpcs", "mpvs", "mpu")


def tire(monkeypatch, n_steps):
    """From the next Newton step but `n_steps` on there are none; accesses begin, as on larger data."""
    monkeypatch.setattr(Costs, "needs_passes", True)
    left = [n_steps]

    class Tired(newton.Objective):
        def minimise(self, share, enough, most_steps):
            made = super().minimise(share, enough, min(most_steps, left[0]))
            left[0] -= made
            return made

    monkeypatch.setattr(newton, "Objective", Tired)
    return left


@quiet
@each_loss
@pytest.mark.parametrize("n_steps", [0, 1, 2, 5])
def test_rules_finish_what_newton_steps_do_not(n_steps, loss, monkeypatch):
    left = tire(monkeypatch, n_steps)
    X, y = clouds(m=200)
    for max_iter in (1, 2, 3, 4, 1000):
        left[0] = n_steps
        classifier = fit(X, y, loss=loss, max_iter=max_iter)
        primal, dual, alpha, *_ = sides(classifier, X, y, 1.0, loss)
        assert classifier.certificates_[0].primal == pytest.approx(float(primal), rel=1e-9)
        # The certificate's dual value is the best of all epochs, the dual variables are of the last.
        certificates = [epoch.certificate for epoch in classifier.learning_curve_[0]]
        duals = [certificate.dual for certificate in certificates if certificate is not None]
        assert 0.1 * duals[0] <= dual <= duals[-1] * (1 + 1e-12)
    assert classifier.converged_
    assert classifier.n_iter_ < 60
    assert dual == pytest.approx(duals[-1], rel=1e-12)


@pytest.mark.parametrize("accesses", [True, False])
@pytest.mark.parametrize(("n_classes", "weighted"), [(2, True), (3, False)])
def test_newton_steps_prove_the_accuracy_of_the_papers_algorithms(
    accesses, n_classes, weighted, monkeypatch
):
    monkeypatch.setattr(Costs, "needs_passes", accesses)
    X, y = clouds(m=200, n_classes=n_classes)
    C = np.random.default_rng(0).integers(1, 4, len(y)) * 0.7 if weighted else np.ones(len(y))
    fits = {name: margins.get(name)(random_state=0).fit(X, y, C) for name in ("auto", *PAPERS)}
    for fitted in fits.values():
        assert fitted.converged_
        for i, certificate in enumerate(fitted.certificates_):
            primal, dual, *_ = sides(fitted, X, y, C, "squared_hinge", i)
            assert certificate.primal == pytest.approx(float(primal), rel=1e-9)
            best = optimum(X, np.where(y == (i if n_classes > 2 else 1), 1, -1), C, "squared_hinge", 1.0)
            assert dual * (1 - 1e-9) <= certificate.dual <= best * (1 + 1e-8)
            assert certificate.fraction >= 0.99
    by_steps = fits.pop("auto")
    assert by_steps.solver_ == ("unlearning + newton" if accesses else "newton")
    assert by_steps.n_iter_ <= 3
    for fitted in fits.values():
        assert fitted.solver_ == "rules"
        assert by_steps.n_accesses_ < fitted.n_accesses_


@each_loss
@pytest.mark.parametrize("accesses", [True, False])
def test_accesses_begin_from_0_if_newton_steps_from_0_do_not_finish(accesses, loss, monkeypatch):
    tire(monkeypatch, 0)
    monkeypatch.setattr(Costs, "needs_passes", accesses)
    X, y = clouds(m=200)
    seen = []

    class Watched(Auto):
        def phases(self, run):
            for phase in super().phases(run):
                state = run.weights
                name = phase.make_solver().name
                seen.append((name, state.dual_sum, state.t, abs(state.weights).max()))
                before = state.n_updates
                yield phase
                assert run.weights.n_updates >= before

    classifier = Watched(loss=loss, eps=1e-6, random_state=0).fit(X, y)
    names = [name for name, *_ in seen]
    n_before = 0 if accesses else 1
    assert names[:n_before] == ["newton"] * n_before
    assert seen[n_before] == ("unlearning", 0, 0, 0)
    assert names[n_before:].count("newton") == 1
    assert names[names.index("newton", n_before) + 1] == "conjugate"
    assert classifier.converged_
    primal, dual, *_ = sides(classifier, X, y, 1.0, loss)
    (certificate,) = classifier.certificates_
    assert certificate.primal == pytest.approx(float(primal), rel=1e-9)
    assert dual * (1 - 1e-9) <= certificate.dual <= primal * (1 + 1e-9)


@each_loss
@pytest.mark.parametrize("n_steps", [0, 2])
def test_the_next_phase_starts_with_the_sum_of_the_dual_variables_at_the_scale_of_rules(
    n_steps, loss, monkeypatch
):
    tire(monkeypatch, n_steps)
    X, y = clouds(m=100)
    Y = oracles.data_of(X, np.where(y == 1, 1, -1))
    seen, bounds, bound_dual = [], [math.inf], Run.bound_dual

    def note(run, upper):
        bounds.append(upper)
        bound_dual(run, upper)

    monkeypatch.setattr(Run, "bound_dual", note)

    class Watched(Auto):
        def phases(self, run):
            for phase in super().phases(run):
                a = np.append(run.weights.weights, run.weights.label_sum)
                assert_allclose(a, run.weights.dual @ Y, rtol=1e-12, atol=1e-12 * abs(a).max())
                assert run.weights.dual.max() <= bounds[-1] * (1 + 1e-12)
                if seen and seen[-1][0] == "newton":
                    seen.append(("next", run.weights.dual.max(), run.sqradius))
                name = phase.make_solver().name
                yield phase
                if name == "newton":
                    seen.append((name, run.weights.dual.max(), run.sqradius))

    Watched(loss=loss, eps=1e-6, random_state=0).fit(X, y)
    # Newton steps are at the scale of the problem, accesses at that of b, 1e6 and more times R**2.
    (_, before, sqradius), (_, after, _) = seen
    assert before < 100
    assert 1e5 * sqradius * 1e-3 < after < 1e10 * sqradius


@quiet
@pytest.mark.parametrize("loss", LOSSES)
def test_rules_continue_from_the_best_dual_variables(loss, monkeypatch):
    # The first step has spoilt them.
    X, y = clouds(m=200)
    left = tire(monkeypatch, 1)
    for max_iter in (3, 4, 5):
        left[0] = 1
        short = fit(X, y, loss=loss, max_iter=max_iter)
        _, given_up = [epoch.mistakes == 0 for epoch in short.learning_curve_[0]][-2:]
        if given_up:
            break
    assert given_up
    dual = sides(short, X, y, 1.0, loss)[1]
    assert dual == pytest.approx(short.certificates_[0].dual, rel=1e-9)
