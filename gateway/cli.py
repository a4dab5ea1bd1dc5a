"""The command `memory-gateway`: serves, or with `migrate` only migrates."""

from gateway.service import SERVICE
from serving.command import command, run

app = command(SERVICE)


def main() -> None:
    """Run the command; an error that is the operator's to solve is told in one line."""
    run(app, SERVICE.name)
