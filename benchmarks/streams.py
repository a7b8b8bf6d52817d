"""Streams: chunks of samples, one after the other."""

import margins

from .data import dense


class Stream:
    """`partial_fit` in chunks of 100 samples."""

    params = (["perceptron", "pa-i", "pam", "voted-perceptron"],)
    param_names = ("name",)

    def setup(self, name):
        self.X, self.y = dense(m=10_000)

    def time_chunks(self, name):
        classifier = margins.get(name)(random_state=0)
        for begin in range(0, len(self.y), 100):
            chunk = slice(begin, begin + 100)
            classifier.partial_fit(self.X[chunk], self.y[chunk], classes=[0, 1])
