"""Another perceptron that asks for the name that its twin asks for."""

from margins.algorithms.perceptron import Perceptron


class TwinPerceptron(Perceptron):
    """Another perceptron that asks for the name that its twin asks for.

    **Source**: the tests.
    """
