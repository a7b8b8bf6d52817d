"""The memory that this process may still use, so that models that cannot fit are rejected at once.

A system that hands out more memory than it has kills the process later, without a message.
"""

import contextlib
import os
from pathlib import Path

MEMORY_INFO = Path("/proc/meminfo")
GROUPS_OF_PROCESS = Path("/proc/self/cgroup")
GROUPS = Path("/sys/fs/cgroup")

# Models with fewer weights are not checked: the check takes as long as a small fit.
NEGLIGIBLE = 1 << 24
# Minimum number of weight vectors in memory for each binary problem: one of its run, one of its model.
N_VECTORS = 2


def check_model_fits(name, n_problems, n_features):
    """Raise a MemoryError if the weights of a linear model do not fit into memory."""
    size = 8 * n_problems * n_features
    if n_problems * n_features < NEGLIGIBLE:
        return
    available = available_bytes()
    if available is not None and N_VECTORS * size > available:
        raise MemoryError(
            f"The model of {name} must fit into memory: {n_problems} x {n_features} weights take "
            f"{text_of_bytes(size)}, and the fit needs at least {N_VECTORS} times as much at its end. "
            f"Got {text_of_bytes(available)} of free memory. Use fewer features or classes."
        )


def available_bytes():
    """Return the memory that this process may still use, in bytes (int; None if unknown)."""
    limits = _free_on_machine(), *_left_in_groups(), _left_in_limit()
    known = [limit for limit in limits if limit is not None]
    return max(min(known), 0) if known else None


def _free_on_machine():
    """Return the memory available without swapping or, if it is unknown, all memory of the machine."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in MEMORY_INFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    with contextlib.suppress(AttributeError, OSError, ValueError):  # Windows has no sysconf
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _left_in_groups():
    """Return the memory left by the control groups of this process, as in containers (list of int)."""
    left = []
    with contextlib.suppress(OSError):
        for line in GROUPS_OF_PROCESS.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers == "":  # version 2, in which the limits of all parent groups hold, too
                group = GROUPS / path.lstrip("/")
                for folder in (group, *group.parents):
                    if folder == GROUPS.parent:
                        break
                    left.append(_left_in(folder, "memory.max", "memory.current"))
            elif controllers == "memory":
                for folder in (GROUPS / "memory" / path.lstrip("/"), GROUPS / "memory"):
                    left.append(_left_in(folder, "memory.limit_in_bytes", "memory.usage_in_bytes"))
    return left


def _left_in(folder, limit, used):
    """Return the memory left by one control group (int; None without a limit)."""
    with contextlib.suppress(OSError, ValueError):  # the limit is "max", or cannot be read
        return int((folder / limit).read_text()) - int((folder / used).read_text())
    return None


def _left_in_limit():
    """Return the memory left by the limit of the address space (int; None without a limit)."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    with contextlib.suppress(OSError, ValueError, IndexError):
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        return limit - pages * os.sysconf("SC_PAGE_SIZE")
    return limit


def text_of_bytes(n_bytes):
    """Return a size in gigabytes, for messages (str)."""
    return f"{n_bytes / 1e9:.1f} GB"
