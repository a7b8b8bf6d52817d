"""Live progress: the lines that reach the terminal, and an estimator that is as it was."""

from cli.conftest import samples

import margins
from margins.cli import output, training


def test_every_epoch_is_shown_and_the_classifier_stays_as_it_was(capsys):
    classifier, lines = margins.get("pdm")(random_state=0, eps=0.1), []
    X, y = samples()
    assert training.fit(classifier, X, y, lines.append) == []
    assert len(lines) == classifier.n_iter_ and "proven fraction" in lines[-1]
    assert classifier.verbose == 0 and "_reporter" not in vars(classifier)
    assert capsys.readouterr() == ("", "")


def test_without_a_terminal_nothing_is_shown():
    with output.live_progress(True) as show:
        assert show is None


def test_on_a_terminal_lines_are_shown(monkeypatch, capsys):
    class Terminal:
        written = ""

        def isatty(self):
            return True

        def write(self, text):
            self.written += text

        def flush(self):
            pass

    terminal = Terminal()
    monkeypatch.setattr(output.sys, "stderr", terminal)
    with output.live_progress(True) as show:
        show("epoch 1: gap 0.5 [x]")
        import time

        time.sleep(0.3)
    assert "epoch 1: gap 0.5 [x]" in terminal.written
