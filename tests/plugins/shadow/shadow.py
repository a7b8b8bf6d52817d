"""A perceptron under the name of a built-in."""

from margins.algorithms.perceptron import Perceptron


class ShadowPerceptron(Perceptron):
    """A perceptron under the name of a built-in.

    **Source**: the tests.
    """
