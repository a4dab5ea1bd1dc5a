"""Where tests keep the files of a database: in memory, if there is room.

A database has hundreds of files. On a disk, creating and deleting them for each test takes longer
than most tests do.
"""

import os
import shutil
from contextlib import suppress

_MEMORY = "/dev/shm"
# Several test processes have databases at the same time.
_ROOM_BYTES = 4 * 2**30


def in_memory() -> str | None:
    """The directory for temporary files in memory; None, if there is no room: the usual one."""
    with suppress(OSError):
        if os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free >= _ROOM_BYTES:
            return _MEMORY
    return None
