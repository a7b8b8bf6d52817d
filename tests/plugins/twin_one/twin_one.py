"""A perceptron that asks for a name that another asks for, too."""

from margins.algorithms.perceptron import Perceptron


class TwinPerceptron(Perceptron):
    """A perceptron that asks for a name that another asks for, too.

    **Source**: the tests.
    """
