"""What Hosts print while they are treated badly: a lot, on purpose, and of no use to whoever runs the campaign."""

import os
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def quiet() -> Generator[None]:
    """Standard error leads nowhere meanwhile, for this process and for those that it starts."""
    kept = os.dup(2)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    os.close(null)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
