"""What tests of several rooms need."""

import signal

import pytest


@pytest.fixture
def ctrl_c():
    """Ctrl-C is heard, also by a process that was started in the background and told to ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
