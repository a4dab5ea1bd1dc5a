"""`python -m pinecone_plugin`: serve, with the settings from the environment."""

import os
import sys
from typing import NoReturn

import uvicorn

from pinecone_plugin.app import create_app


def main() -> None:
    try:
        app = create_app(os.environ["PINECONE_HOST"], os.environ["PINECONE_API_KEY"])
    except KeyError as missing:
        _refuse(f"{missing.args[0]} is not set; see README.md beside this package")
    address = os.environ.get("MEMORY_PLUGIN_LISTEN_ADDR", "127.0.0.1:9100")
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        _refuse(f"MEMORY_PLUGIN_LISTEN_ADDR is {address!r}; give host:port, as in 127.0.0.1:9100")
    # One worker: reading and then writing is made safe by a lock in this process.
    uvicorn.run(app, host=host, port=int(port), workers=1, access_log=False)


def _refuse(message: str) -> NoReturn:
    sys.stderr.write(f"{message}\n")
    sys.exit(2)


main()
