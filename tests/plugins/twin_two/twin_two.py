"""A perceptron under the name of `twin_one`'s."""

from margins.algorithms.perceptron import Perceptron


class TwinPerceptron(Perceptron):
    """A perceptron under the name of `twin_one`'s.

    **Source**: the tests.
    """
