"""A task that kills its process; it loads nothing, so that processes start at once."""

import os
import signal
import time
from pathlib import Path


def die_or_count(folder: str, times: int) -> int:
    """Die, or count the files of a folder."""
    if not folder:
        return -1
    count = len(list(Path(folder).iterdir()))
    if count < times:
        (Path(folder) / str(time.time_ns())).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return count
