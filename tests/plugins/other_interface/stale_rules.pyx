# cython: language_level=3
"""A module that is compiled against headers of margins with another number, in the folder `headers`.

It has no rules: with all that `margins._update` declares it would take four seconds to compile.
"""
from margins.rules._state cimport require_abi

margins_abi = require_abi()
