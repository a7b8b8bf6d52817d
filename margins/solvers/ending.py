"""How a run ended, as one value, and the sentence that says so."""

from enum import Enum, auto


class Ending(Enum):
    """How a run ended. It has converged if it is PROVEN or UNCHANGED.

    Examples
    --------
    >>> Ending.MAX_ITER.describe(max_iter=7)
    'max_iter=7 full epochs came first'
    >>> Ending.UNCHANGED.has_converged, Ending.EXHAUSTED.has_converged
    (True, False)
    """

    PROVEN = auto()  # the certificate proves the accuracy
    UNCHANGED = auto()  # without an accuracy to prove: a full epoch changed nothing
    STANDSTILL = auto()  # nothing changes any more, though the accuracy is not proven
    EXHAUSTED = auto()  # the algorithm has no further phase
    MAX_ITER = auto()
    MAX_TIME = auto()
    CALLBACK = auto()
    INFEASIBLE = auto()  # the algorithm has shown that its problem has no solution

    @property
    def has_converged(self):
        """True if the run reached what it was to reach: bool."""
        return self in (Ending.PROVEN, Ending.UNCHANGED)

    def describe(self, *, max_iter=None, max_time=None, detail=None):
        """Return the sentence about a run that has not converged: str.

        Parameters
        ----------
        max_iter : int, optional
        max_time : float, optional
        detail : str, optional
            The reason of a standstill or of an infeasible problem.
        """
        if self is Ending.EXHAUSTED:
            return "the algorithm ended before its accuracy was proven"
        if self is Ending.MAX_ITER:
            return f"max_iter={max_iter} full epochs came first"
        if self is Ending.MAX_TIME:
            return f"max_time={max_time:g} seconds came first"
        return "a callback stopped it" if self is Ending.CALLBACK else str(detail)
