"""A perceptron that asks for the name of another."""

from margins.algorithms.perceptron import Perceptron


class ShadowPerceptron(Perceptron):
    """A perceptron that asks for the name of another.

    **Source**: the tests.
    """
