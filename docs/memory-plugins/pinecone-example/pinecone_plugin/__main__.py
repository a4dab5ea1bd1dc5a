"""`python -m pinecone_plugin`: serve, with the settings from the environment."""

import os
import sys

import uvicorn

from pinecone_plugin.app import create_app


def main() -> None:
    try:
        app = create_app(os.environ["PINECONE_HOST"], os.environ["PINECONE_API_KEY"])
    except KeyError as missing:
        sys.exit(f"{missing.args[0]} is not set; see README.md beside this package")
    host, _, port = os.environ.get("MEMORY_PLUGIN_LISTEN_ADDR", "127.0.0.1:9100").rpartition(":")
    # One worker: reading and then writing is made safe by a lock in this process.
    uvicorn.run(app, host=host, port=int(port), workers=1, access_log=False)


main()
