"""`python -m agent` is `memory-agent`."""

from agent.cli import main

main()
