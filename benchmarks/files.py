"""The reader of svmlight's format, model files, and the start of the command line."""

import io
import subprocess
import sys

import margins
from margins.persistence import dump, load
from margins.readers.svmlight import parsed

from .data import dense, text


class Reading:
    def setup(self):
        X, y = text(m=5_000)
        lines = []
        for k, label in enumerate(y.tolist()):
            row = slice(X.indptr[k], X.indptr[k + 1])
            pairs = zip(X.indices[row].tolist(), X.data[row].tolist(), strict=True)
            lines.append(f"{label} " + " ".join(f"{j + 1}:{value:.6g}" for j, value in pairs))
        self.text = "\n".join(lines).encode()

    def time_parse(self):
        parsed(self.text, "text")


class Models:
    def setup(self):
        X, y = dense(m=2_000)
        self.classifier = margins.MarginClassifier(random_state=0).fit(X, y)
        self.file = io.BytesIO()
        dump(self.classifier, self.file)

    def time_dump(self):
        dump(self.classifier, io.BytesIO())

    def time_load(self):
        load(io.BytesIO(self.file.getvalue()))


class Start:
    """Whole processes."""

    def time_import(self):
        subprocess.run([sys.executable, "-c", "import margins; margins.MarginClassifier"], check=True)

    def time_command_line(self):
        subprocess.run([sys.executable, "-m", "margins", "--version"], check=True, capture_output=True)
