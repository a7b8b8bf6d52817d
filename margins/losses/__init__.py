"""Losses: the primal objective, the feasible dual variables, and the gap that proves an accuracy."""

from margins.losses.base import Bounds, Loss, MaximumMarginLoss
from margins.losses.hard_margin import HardMargin
from margins.losses.hinge import Hinge
from margins.losses.squared_hinge import SquaredHinge

__all__ = ["Bounds", "HardMargin", "Hinge", "Loss", "MaximumMarginLoss", "SquaredHinge", "loss_of"]

LOSSES = {loss.name: loss for loss in (SquaredHinge, Hinge)}


def loss_of(name, C):
    """Return the loss with this name and these penalties."""
    return (LOSSES[name] if isinstance(name, str) else name)(C)
