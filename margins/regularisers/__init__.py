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
