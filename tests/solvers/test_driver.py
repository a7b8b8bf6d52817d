"""Runs: what phases may do, what is recorded of them, and when a run ends."""

from itertools import product

import numpy as np
import pytest
from problems import clouds
from scripted_runs import BUSY, CLEAN, GIVES_UP, PERCEPTRON, Scripted, run_of
from sklearn.exceptions import ConvergenceWarning

import margins
from margins._update import WeightVector
from margins.losses import Hinge, SquaredHinge
from margins.rules import Additive, Average, FixedThreshold, NoShrink, Rules
from margins.solvers.base import EpochReport, EpochSolver, Phase, PhaseRecord, solver_path
from margins.solvers.dual_cd import dual_coordinate_descent
from margins.solvers.newton.newton import NewtonSolver

quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
# --------------------------------------------------------------------------------------------- phases


def test_phases_are_recorded_with_their_epochs_updates_accesses_and_seconds():
    run = run_of(eps=1e-3, loss=SquaredHinge(1.0))
    outcome = run.train([Phase(PERCEPTRON, epochs=2), Phase(solver=dual_coordinate_descent(run))])
    first, second = run.phases
    assert (first.solver, first.epochs, first.accesses) == ("rules", 2, 2 * 60)
    assert second.solver == "dcd"
    assert outcome.solver_path == "rules + dcd"
    assert outcome.converged and outcome.message is None
    assert first.epochs + second.epochs == run.n_epochs == len(run.history)
    assert (run.problem.n_samples, run.problem.n_features, run.problem.n_weights) == (60, 3, 4)
    assert first.updates + second.updates == run.weights.n_updates == run.certificate.n_updates
    assert first.accesses + second.accesses == run.n_accesses
    assert min(first.updates, first.seconds, second.seconds) > 0
    assert [epoch.solver for epoch in run.history] == ["rules"] * 2 + ["dcd"] * second.epochs


def test_fitted_classifiers_record_the_solvers_that_ran():
    X, y = clouds(m=120, n_classes=3)
    classifier = margins.MarginClassifier(random_state=0).fit(X, y)
    assert len(classifier.phases_) == 3
    for phases, curve in zip(classifier.phases_, classifier.learning_curve_, strict=True):
        assert all(isinstance(record, PhaseRecord) for record in phases)
        assert sum(record.epochs for record in phases) == len(curve)
        assert {epoch.solver for epoch in curve} == {record.solver for record in phases}
    assert classifier.n_accesses_ == sum(r.accesses for phases in classifier.phases_ for r in phases)
    assert classifier.solver_ == "newton"


def test_paths_name_successive_phases_of_a_solver_once():
    def records(*names):
        return [PhaseRecord(name.strip("-"), 0 if "-" in name else 1, 0, 0, 0.0) for name in names]

    assert solver_path([]) == ""
    assert solver_path(records("newton")) == "newton"
    assert solver_path(records("rules", "rules", "newton", "rules")) == "rules + newton + rules"
    assert solver_path(records("rules", "-dcd", "rules")) == "rules"  # a phase without an epoch


def test_a_phase_ends_after_its_epochs():
    run = run_of(loss=SquaredHinge(1.0), eps=1e-12)
    first, second = Scripted(*[BUSY] * 9), Scripted(*[BUSY] * 9)
    outcome = run.train([Phase(solver=first, epochs=3), Phase(solver=second, epochs=2)])
    assert [record.epochs for record in run.phases] == [3, 2]
    assert (first.started, second.started) == (1, 1)
    assert not outcome.converged
    assert outcome.message == "the algorithm ended before its accuracy was proven"


def test_a_solver_that_is_exhausted_ends_its_phase():
    run = run_of(loss=SquaredHinge(1.0), eps=1e-12)
    run.train([Phase(solver=Scripted(BUSY, GIVES_UP)), Phase(solver=Scripted(BUSY, CLEAN))])
    assert [record.epochs for record in run.phases] == [2, 2]


@pytest.mark.parametrize(("is_last", "n_phases"), [(True, 1), (False, 2)])
def test_an_epoch_without_updates_ends_a_run_without_an_accuracy_in_its_last_phase(is_last, n_phases):
    run = run_of(eps=None)
    phases = [Phase(solver=Scripted(BUSY, CLEAN), is_last=is_last), Phase(solver=Scripted(CLEAN))]
    outcome = run.train(phases)
    assert len(run.phases) == n_phases
    assert run.last_epoch_changed_nothing and outcome.converged


def test_an_epoch_without_updates_ends_the_phase_but_no_run_with_an_unproven_accuracy():
    run = run_of(loss=SquaredHinge(1.0), eps=1e-12)
    outcome = run.train([Phase(solver=Scripted(CLEAN)), Phase(solver=Scripted(BUSY, CLEAN))])
    assert [record.epochs for record in run.phases] == [1, 2]
    assert not outcome.converged


def test_a_solver_that_decays_is_not_ended_by_an_epoch_without_updates():
    solver = Scripted(CLEAN, CLEAN, BUSY)
    solver.decays = True
    run = run_of(eps=None, max_iter=3)
    run.train([Phase(solver=solver)])
    assert run.n_epochs == 3


@pytest.mark.parametrize("eps", [None, 1e-12])
@pytest.mark.parametrize("epochs", [None, 2])
def test_no_phase_begins_after_max_iter(epochs, eps):
    run = run_of(eps=eps, max_iter=2, loss=SquaredHinge(1.0))

    def phases():
        yield Phase(solver=Scripted(BUSY, BUSY, BUSY), epochs=epochs)
        pytest.fail("another phase was prepared")

    outcome = run.train(phases())
    assert run.n_epochs == 2 and not outcome.converged
    assert outcome.message == "max_iter=2 full epochs came first"
    assert run.certificate == run.history[-1].certificate or eps is None


@quiet
@pytest.mark.parametrize("solver", ["auto", "newton", "conjugate", "unlearning", "dcd"])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_the_fitted_model_is_certified_for_every_max_iter(loss, solver, tuned):
    tuned(newton={"max_steps": 1, "few_elements": 1000})
    for shape, max_iter in product(((80, 4), (400, 12)), range(1, 7)):
        X, y = clouds(m=shape[0], d=shape[1])
        params = {"loss": loss, "solver": solver, "max_iter": max_iter}
        classifier = margins.MarginClassifier(eps=1e-12, random_state=0, **params).fit(X, y)
        slack = np.maximum(1 - np.where(y == 1, 1, -1) * classifier.decision_function(X), 0)
        primal = 0.5 * (np.sum(classifier.coef_**2) + classifier.intercept_[0] ** 2)
        primal += slack.sum() if loss == "hinge" else slack @ slack
        certificate = classifier.certificates_[0]
        assert certificate.primal == pytest.approx(primal, rel=1e-9), (shape, max_iter)
        assert classifier.learning_curve_[0][-1].certificate == certificate, (shape, max_iter)


def test_a_run_that_begins_again_forgets_its_products():
    """Newton steps start from them: those of the model before would be those of no weight vector."""
    run = run_of(*clouds(), Hinge(1.0), eps=1e-6)
    run.start_from(np.full(len(run.data), 0.5))
    run.restart()
    solver = NewtonSolver()
    solver.start(run)
    assert not solver.w.any() and not solver.margins.any()


def test_dual_variables_to_start_from_are_made_feasible():
    X, y = clouds()
    run = run_of(X, y, SquaredHinge(1.0), eps=1e-6)
    Y = run.data.signs[:, np.newaxis] * np.c_[X, np.ones(len(X))]
    best = np.linalg.solve(Y @ Y.T + np.eye(len(X)) / 2, np.ones(len(X)))  # without alpha >= 0
    assert best.min() < 0
    run.start_from(best)
    optimum = margins.MarginClassifier(eps=1e-6, random_state=0).fit(X, y).certificates_[0]
    assert 0 < run.certificate.dual <= optimum.primal


@pytest.mark.parametrize(
    ("method", "wrong"),
    [
        *(("bound_dual", wrong) for wrong in (np.ones(3), -1.0, np.nan, [[1.0]])),
        ("rescale", -1),
        ("rescale", 0),
    ],
)
def test_numbers_that_leave_no_feasible_dual_variables_are_errors(method, wrong):
    with pytest.raises(ValueError, match=rf"of {method} must be .* Got "):
        getattr(run_of(*clouds(), Hinge(1.0)), method)(wrong)


def test_an_averaging_belongs_to_its_phase():
    run = run_of(eps=None)
    made = []

    def averaging(weights):
        made.append(Average(weights))
        return made[-1]

    phases = [Phase(PERCEPTRON, epochs=1, averaging=averaging, is_last=False), Phase(PERCEPTRON)]
    seen = []
    for phase in phases:
        run.begin_phase(phase)
        seen.append(run.averaging)
    assert seen == [made[0], None] and len(made) == 1


# ------------------------------------------------------------------------------------------- solvers


def test_a_part_of_the_samples_may_count_as_an_epoch():
    run = run_of(loss=SquaredHinge(1.0), eps=1e-12)
    run.train([Phase(Rules(FixedThreshold(1e9), Additive(most=1), NoShrink()), n_samples=7, epochs=1)])
    assert run.n_accesses == run.phases[0].accesses == 7


def test_objects_with_a_full_epoch_are_solvers():
    class Loop:
        n_accesses = n_rejected = n_unmoved = 0

        def full_epoch(self, data, weights, rules, order, full_pass_rules, averaging):
            self.n_accesses += 3 * len(order)
            self.n_rejected = 4
            return 0

    run = run_of(eps=None)
    outcome = run.train([Phase(solver=EpochSolver(PERCEPTRON, Loop(), "own"))])
    assert (run.n_accesses, run.history[0].mistakes, outcome.solver_path) == (180, 4, "own")


# ------------------------------------------------------------------------------------------- options


def test_a_proof_may_require_a_pass_without_updates():
    counts = {}
    for needs_clean_pass in (False, True):
        run = run_of(loss=SquaredHinge(1.0), eps=0.1, needs_clean_pass=needs_clean_pass, max_iter=5000)
        outcome = run.train([Phase(solver=dual_coordinate_descent(run))])
        assert outcome.converged
        assert run.last_epoch_changed_nothing or not needs_clean_pass
        counts[needs_clean_pass] = run.n_epochs
        certified = [epoch.certificate is not None for epoch in run.history]
        assert sum(certified) == (1 if needs_clean_pass else run.n_epochs)
    assert counts[False] < counts[True]


def test_new_weights_are_trained():
    made = []

    def new_weights(data):
        made.append(WeightVector(data.rows.n_features, len(data)))
        return made[-1]

    run = run_of(eps=None, new_weights=new_weights)
    assert run.weights is made[0]


def test_a_part_of_the_samples_may_be_held_out():
    run = run_of(eps=None, held_out=0.25)
    run.train([Phase(PERCEPTRON, epochs=1)])
    assert run.n_accesses == 45


def test_only_checked_epochs_and_the_last_have_a_certificate():
    no_check = EpochReport(n_changed=1, n_accesses=5, check_gap=False)
    run = run_of(loss=SquaredHinge(1.0), eps=1e-12, max_iter=3)
    run.train([Phase(solver=Scripted(no_check, no_check, no_check))])
    found = [epoch.certificate for epoch in run.history]
    assert found[:2] == [None, None]
    assert found[2] == run.certificate


def test_stop_is_a_stopping_rule_and_has_no_other_effect():
    X, y = clouds(m=100)
    one, other = (
        margins.get("mpu")(C=1.0, eps=1e-9, stop=stop, max_iter=2, random_state=0)
        for stop in ("certificate", "clean-pass")
    )
    for classifier in (one, other):
        with pytest.warns(ConvergenceWarning):
            classifier.fit(X, y)
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.dual_coef_, other.dual_coef_)
    assert (one.n_updates_, one.n_accesses_) == (other.n_updates_, other.n_accesses_)
    assert one.certificates_ == other.certificates_
