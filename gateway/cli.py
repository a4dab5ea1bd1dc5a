"""The command `memory-gateway`: serves, or with `migrate` only migrates."""

from gateway.service import SERVICE
from serving.command import command, run

app = command(SERVICE)


def main() -> None:
    """Run the command; report an error that the operator can solve in one line."""
    run(app, SERVICE.name)
