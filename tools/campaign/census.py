"""What this process holds, counted: descriptors, threads, child processes, memory. Linux alone can be asked for all of it."""

import os
import threading
import tracemalloc
from pathlib import Path
from typing import TypeAlias

import psutil

Census: TypeAlias = dict[str, int]


def census() -> Census:
    """How many of each there are. A thread that Python does not know counts too."""
    return {
        "descriptors": len(os.listdir("/proc/self/fd")) - 1,  # without that of the listing
        "threads": max(threading.active_count(), len(os.listdir("/proc/self/task"))),
        "children": len(psutil.Process().children(recursive=True)),
    }


def surplus(before: Census, after: Census) -> int:
    """How many more there are of anything."""
    return sum(max(0, after[name] - before[name]) for name in before)


def resident_kb(pid: int | None = None) -> int:
    """The memory of a process that is in use, in kB; 0 if the process is gone."""
    try:
        pages = Path(f"/proc/{pid or 'self'}/statm").read_text().split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE") // 1024


def traced_bytes() -> int:
    """What Python has allocated, as `tracemalloc` counts it."""
    return tracemalloc.get_traced_memory()[0]
