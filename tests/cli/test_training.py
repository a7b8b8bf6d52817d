"""Live progress: the lines that reach the terminal, and an estimator that is as it was."""

import io
import time

from cli.conftest import samples

import margins
from margins.cli import output, training


def test_every_epoch_is_shown_and_the_classifier_stays_as_it_was(capsys):
    classifier, lines = margins.get("pdm")(random_state=0, eps=0.1), []
    with training.messages_of(lines.append, classifier) as messages:
        classifier.fit(*samples())
    assert messages == []
    assert len(lines) == classifier.n_iter_ and "proven fraction" in lines[-1]
    assert classifier.verbose == 0
    assert capsys.readouterr() == ("", "")


def test_without_a_terminal_nothing_is_shown():
    with output.live_progress(True) as show:
        assert show is None


def test_on_a_terminal_lines_are_shown(monkeypatch):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(output.sys, "stderr", terminal)
    with output.live_progress(True) as show:
        show("class '[x]': epoch 1 (dcd): 3 samples misclassified, proven fraction 0.9, gap 0.5")
        show("class '[x]': epoch 2 (dcd): 3 samples misclassified, 12 updates")
        time.sleep(0.3)
        show("class 'y': epoch 1 (dcd): 3 samples misclassified, 12 updates")
        time.sleep(0.3)
    assert "class '[x]': epoch 2, gap 0.5 proven" in terminal.getvalue()
    assert "class 'y': epoch 1, nothing proven yet" in terminal.getvalue()
