"""The records of a run, and the sentences made of them."""

from typing import NamedTuple

from margins.certificate import Certificate


class Epoch(NamedTuple):
    """One full epoch of a run.

    Attributes
    ----------
    epoch : int
        From 1.
    updates : int
        Since the start of the run, multiplicities counted.
    mistakes : int
        Misclassified samples of the full pass, by the rules' condition, including those whose dual
        variable was at its upper bound. Of a solver that changes many dual variables at once: their
        number.
    certificate : Certificate or None
        Proven at its end; None if it was not computed: where the estimated gap is above the tolerance,
        or, if the fit must end with an epoch that changes nothing, before such an epoch.
    solver : str
        The name of its solver.
    """

    epoch: int
    updates: int
    mistakes: int
    certificate: Certificate | None
    solver: str = "rules"


def progress(epoch, moves_together):
    """The line of progress of a full epoch: str.

    Parameters
    ----------
    epoch : Epoch
    moves_together : bool
        True: its solver changes many dual variables at once.
    """
    samples = "moved together" if moves_together else "misclassified"
    line = f"epoch {epoch.epoch} ({epoch.solver}): {epoch.mistakes} samples {samples}"
    line += f", {epoch.updates} updates"
    certificate = epoch.certificate
    if certificate is not None:
        line += f", proven fraction {certificate.fraction:.6g}, gap {certificate.gap:.3g}"
    return line


def standstill(n_unmoved, rules):
    """Why an epoch that has changed nothing is no convergence: str.

    Parameters
    ----------
    n_unmoved : int
        Misclassified samples with a dual variable below its upper bound that no update has changed.
    rules : margins.rules.Rules
        Of the pass over all samples.
    """
    samples, are = ("samples", "are") if n_unmoved > 1 else ("sample", "is")
    return (
        f"{n_unmoved} {samples} below the upper bound of the dual variable {are} misclassified by "
        f"{rules.condition!r}, and {rules.update!r} does not move the weight vector"
    )
