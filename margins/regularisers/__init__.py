"""Regularisers: what is minimised beside the losses, with its conjugate, which the proof needs."""

from margins.regularisers.regularisers import (
    L1,
    L2,
    Bounded,
    ElasticNet,
    Prior,
    Regulariser,
    Terms,
    Weighted,
)

__all__ = ["L1", "L2", "Bounded", "ElasticNet", "Prior", "Regulariser", "Terms", "Weighted"]

PENALTIES = {"l2": L2, "l1": L1, "elasticnet": ElasticNet}


def regulariser_of(penalty: str, l1_ratio: float | None = None) -> Regulariser:
    """Return the regulariser with this name; `l1_ratio`: of the elastic net."""
    return PENALTIES[penalty]() if l1_ratio is None else ElasticNet(l1_ratio)
