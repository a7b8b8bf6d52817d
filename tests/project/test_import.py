"""The time that `import margins` takes."""

import subprocess
import sys

TIMES = """
from time import process_time
times = [process_time()]
import numpy
times.append(process_time())
import margins
times.append(process_time())
margins.available()
times.append(process_time())
print(*(after - before for before, after in zip(times, times[1:])))
"""


def test_importing_margins_and_listing_names_is_fast():
    # Processor time, and the least of some runs: whatever else the machine does can only add.
    runs = [
        [float(word) for word in subprocess.check_output([sys.executable, "-c", TIMES]).split()]
        for _ in range(3)
    ]
    _, importing, asking = (min(times) for times in zip(*runs, strict=True))
    assert importing < 0.150, f"import margins takes {importing:.3f} s, beside numpy"
    assert asking < 0.050, f"margins.available() takes {asking:.3f} s"
