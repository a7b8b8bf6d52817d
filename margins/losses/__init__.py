"""Losses: the primal objective, the feasible dual variables, and the gap that proves an accuracy."""

from margins.losses.losses import (
    Bounds,
    HardMargin,
    Hinge,
    Loss,
    MaximumMarginLoss,
    SquaredHinge,
    loss_of,
)

__all__ = ["Bounds", "HardMargin", "Hinge", "Loss", "MaximumMarginLoss", "SquaredHinge", "loss_of"]
