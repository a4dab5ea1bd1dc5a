"""Without a plugin URL the reference plugin runs as a child, and accepts what recall accepts."""

import httpx

from tests.conftest import database_url, execute
from tests.integration.recall.server import MANAGEMENT, recall


def test_100_000_characters_fit_in_any_script(cluster: str, owner: str) -> None:
    name = f"child_{owner[-8:]}"
    execute(cluster, f'CREATE DATABASE "{name}"')
    scripts = {"emoji": "😀", "han": "語", "latin": "x"}
    lines = [
        {"key": key, "content": character * 100_000, "apiKeyId": owner}
        for key, character in scripts.items()
    ]
    with (
        recall("--database-url", database_url(cluster, name), "--dev-auth") as server,
        httpx.Client(base_url=server.url, headers=MANAGEMENT, timeout=60) as client,
    ):
        answer = client.post("/api/memory", json=lines[0])
        assert answer.status_code == 200, answer.text
        assert answer.json()["memory"]["content"] == lines[0]["content"]
        result = client.post("/api/memory/import", json=lines[1:]).json()
        assert (result["imported"], result["errors"]) == (2, [])
