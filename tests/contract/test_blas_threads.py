"""With the threads of BLAS as users have them, small work is not slower than with one thread."""

import pytest
from other_process import HERE, printed_by
from threadpoolctl import ThreadpoolController


@pytest.mark.skipif(
    "openblas" not in str(ThreadpoolController().info()), reason="counts threads of OpenBLAS"
)
def test_threads_of_blas_have_nothing_to_do():
    shares = printed_by(HERE / "processor_of_other_threads.py", OPENBLAS_NUM_THREADS="2")
    busy = [line for line in shares.splitlines() if float(line.partition(": ")[2]) > 0.1]
    assert len(shares.splitlines()) == 16 and not busy
