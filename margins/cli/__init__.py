"""The command line, `margins`: train, predict, evaluate and study without writing Python.

Each command imports only the modules that it uses, so that it starts quickly.
"""
