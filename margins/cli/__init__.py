"""The command line, `margins`: train, predict, evaluate and study without writing Python.

Modules are imported where a command needs them, so that none waits for what it does not use.
"""
