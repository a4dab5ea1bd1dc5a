"""The command `memory-plugin-postgres`: serves, or with `migrate` only migrates."""

from plugin_postgres.service import SERVICE
from serving.command import command, run

app = command(SERVICE)


def main() -> None:
    """Run the command; report an error that the operator can solve in one line."""
    run(app, SERVICE.name)
