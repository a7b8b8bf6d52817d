"""Run a benchmark in two environments: with one BLAS thread, and as users have it."""

import os
import subprocess
import sys

# What limits the threads of the libraries for linear algebra, and what marks the runs of a benchmark.
THREADS, IS_RUN = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "MARGINS_BENCHMARK_RUN"


def in_both_environments(main):
    """Run a benchmark with one BLAS thread, then as users have it; the files of the second run stay."""
    if IS_RUN in os.environ or {"-h", "--help"} & set(sys.argv):
        main()
        return
    users = {name: value for name, value in os.environ.items() if name not in THREADS} | {IS_RUN: "1"}
    for title, limits in (("one", dict.fromkeys(THREADS, "1")), ("as many as come", {})):
        print(f"Threads of BLAS: {title}", flush=True)
        status = subprocess.run([sys.executable, *sys.argv], env=users | limits).returncode
        if status:
            sys.exit(status)
