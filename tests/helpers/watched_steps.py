"""What a Newton solver is when its epochs begin."""

from margins.solvers.newton.newton import NewtonSolver


def before_epochs(monkeypatch, note):
    """What ``note(solver, run)`` is before each epoch of Newton steps: list, filled as they run."""
    notes, epoch = [], NewtonSolver.epoch

    def watched(self, run):
        notes.append(note(self, run))
        return epoch(self, run)

    monkeypatch.setattr(NewtonSolver, "epoch", watched)
    return notes
