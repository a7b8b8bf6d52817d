"""scikit-learn's contract: the base classes of algorithms, and the main classifier."""
