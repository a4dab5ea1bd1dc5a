"""`make demo`."""

import logging
import sys
from pathlib import Path

from rich.console import Console

from demo.story import tell

ROOT = Path(__file__).parents[1]


def tell_here(console: Console) -> None:
    """Run the demo, with the report in this clone's `build/`."""
    # What the embedded PostgreSQL logs about its directories is not part of the demo.
    logging.getLogger("postgres").addHandler(logging.NullHandler())
    tell(console, ROOT / "build" / "demo" / "report.html")


if __name__ == "__main__":
    try:
        tell_here(Console())
    except KeyboardInterrupt:
        sys.exit("\nstopped; everything that ran is stopped, and its data is gone")
