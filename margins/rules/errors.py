"""What is raised where a rule goes wrong."""


class RuleError(ValueError):
    """A rule has returned a number that no rule may return: NaN, or an infinite one.

    A `ValueError`, as for data with NaN: the rule is an input of the fit.

    Parameters
    ----------
    rule : str
        The repr of the rule.
    requirement : str
        What it must do.
    got : float
        What it has returned.
    sample : int
        The sample at which it did: of a condition, the one whose update came just before, or with which
        the pass began.
    algorithm : str, optional
        The name of the algorithm in the registry, or of its class.

    Examples
    --------
    >>> print(RuleError("Mine()", "return finite factors", float("nan"), 3, "mine"))
    Mine() of mine must return finite factors. Got nan at sample 3.
    """

    def __init__(
        self, rule: str, requirement: str, got: float, sample: int, algorithm: str | None = None
    ) -> None:
        super().__init__(rule, requirement, got, sample, algorithm)
        self.rule = rule
        self.requirement = requirement
        self.got = got
        self.sample = sample
        self.algorithm = algorithm

    def __str__(self) -> str:
        owner = "" if self.algorithm is None else f" of {self.algorithm}"
        return f"{self.rule}{owner} must {self.requirement}. Got {self.got} at sample {self.sample}."
