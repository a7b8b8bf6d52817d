"""Fits until the accuracy is proven: seconds, memory, and the gap that is reached."""

import warnings

import margins

from .data import dense, text

warnings.simplefilter("ignore")


class Linear:
    """MarginClassifier with the linear kernel."""

    params = (["dense", "text"], ["squared_hinge", "hinge"], [1e-1, 1e-3])
    param_names = ("data", "loss", "eps")

    def setup(self, data, loss, eps):
        self.X, self.y = dense() if data == "dense" else text()
        self.classifier = margins.MarginClassifier(loss=loss, eps=eps, random_state=0)

    def time_fit(self, data, loss, eps):
        self.classifier.fit(self.X, self.y)

    def peakmem_fit(self, data, loss, eps):
        self.classifier.fit(self.X, self.y)

    def track_gap(self, data, loss, eps):
        return self.classifier.fit(self.X, self.y).certificates_[0].gap


class Kernel:
    """MarginClassifier with the RBF kernel."""

    params = (["squared_hinge", "hinge"], [1.0, 100.0])
    param_names = ("loss", "C")

    def setup(self, loss, C):
        self.X, self.y = dense(m=3_000, d=20)
        self.classifier = margins.MarginClassifier(kernel="rbf", loss=loss, C=C, random_state=0)
        self.fitted = margins.MarginClassifier(kernel="rbf", random_state=0).fit(self.X, self.y)

    def time_fit(self, loss, C):
        self.classifier.fit(self.X, self.y)

    def time_predict(self, loss, C):
        self.fitted.predict(self.X)


class Algorithms:
    """Published algorithms, by their own rules."""

    params = (["perceptron", "pam", "pdm", "mpu", "dcd", "pegasos", "romma"],)
    param_names = ("name",)

    def setup(self, name):
        self.X, self.y = dense(m=5_000)
        self.classifier = margins.get(name)(random_state=0, max_iter=20)

    def time_fit(self, name):
        self.classifier.fit(self.X, self.y)


class Classes:
    """Ten classes, one-vs-rest."""

    def setup(self):
        self.X, self.y = dense(m=5_000, n_classes=10)
        self.classifier = margins.MarginClassifier(random_state=0)

    def time_fit(self):
        self.classifier.fit(self.X, self.y)


class Small:
    """Fits of little data, whose time is that of validation and bookkeeping."""

    def setup(self):
        self.X, self.y = dense(m=100, d=5)
        self.classifier = margins.MarginClassifier(random_state=0).fit(self.X, self.y)

    def time_fit(self):
        self.classifier.fit(self.X, self.y)

    def time_predict(self):
        self.classifier.predict(self.X)
