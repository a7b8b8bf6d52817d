"""A perceptron under the name of `twin_two`'s."""

from margins.algorithms.perceptron import Perceptron


class TwinPerceptron(Perceptron):
    """A perceptron under the name of `twin_two`'s.

    **Source**: the tests.
    """
