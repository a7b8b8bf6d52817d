"""Losses: the primal objective, the feasible dual variables, and the gap that proves an accuracy."""

from margins.losses.losses import Bounds, HardMargin, Hinge, Loss, MaximumMarginLoss, SquaredHinge

__all__ = ["Bounds", "HardMargin", "Hinge", "Loss", "MaximumMarginLoss", "SquaredHinge", "loss_of"]

LOSSES = {loss.name: loss for loss in (SquaredHinge, Hinge)}


def loss_of(name, C):
    """Return the loss with this name and these penalties."""
    return (LOSSES[name] if isinstance(name, str) else name)(C)
