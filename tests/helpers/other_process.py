"""Other processes that import the modules of this folder, and the package that these tests import."""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def environment(**changes):
    """Variables for a process that finds these helpers, and what this process finds by PYTHONPATH."""
    paths = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OPENBLAS_NUM_THREADS": "1"} | changes


def printed_by(*arguments, timeout=300, **changes):
    """What Python prints within some seconds, with some arguments and changed variables: str."""
    answer = subprocess.run(
        [sys.executable, *map(str, arguments)],
        env=environment(**changes),
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert answer.returncode == 0, answer.stderr[-3000:]
    return answer.stdout
