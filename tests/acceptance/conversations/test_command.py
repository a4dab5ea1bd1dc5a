"""The command: what it starts with, what it refuses, and who may call from a browser."""

import os
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.acceptance.command import program, running
from tests.acceptance.conversations.conftest import COMMAND, KEYS
from tests.acceptance.conversations.people import User, fresh
from tests.conftest import database_url, execute
from tests.waiting import SECONDS, until

PREFIX = "MEMORY_CONVERSATIONS_"


def ended(*flags: str, **environment: str) -> tuple[int, str]:
    """The exit code and the last line of a command that ends by itself."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    done = subprocess.run(
        [*program(COMMAND), *flags],
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
        env={**kept, **{PREFIX + name: value for name, value in environment.items()}},
    )
    return done.returncode, done.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize(
    ("flags", "environment", "said"),
    [
        ((), {}, "exactly one way to check tokens"),
        (("--dev-auth",), {"JWT_SECRET": "x" * 32}, "exactly one way to check tokens"),
        ((), {"JWT_SECRET": "x" * 32, "JWKS_URL": "http://keys"}, "exactly one way"),
        (("--dev-auth", "--listen=0.0.0.0:0"), {}, "--dev-auth"),
        (("--dev-auth", "--listen=:0"), {}, "--dev-auth"),
        (("--dev-auth", "--listen=example.com:80"), {}, "--dev-auth"),
        (("--dev-auth", "--resumer=other"), {}, "--resumer"),
        (("--dev-auth", "--resumer=redis"), {}, "REDIS_URL"),
        (("--dev-auth", "--resumer=redis", "--redis-url=host:6379"), {}, "--redis-url: "),
        (("--dev-auth", "--resumer=redis", "--redis-url=redis://host:x"), {}, "--redis-url: "),
        (("--jwks-url=login.example/keys",), {}, "--jwks-url must be an http or https URL"),
        (("--dev-auth", "--embed-url=host", "--embed-model=m"), {}, "--embed-url must be"),
        (("--dev-auth",), {"AGENT_KEYS": "bot"}, "AGENT_KEYS"),
        (("--dev-auth",), {"AGENT_KEYS": "a=k1,b=k1"}, "AGENT_KEYS: gives the agent b the key"),
        (("--dev-auth",), {"RESPONSE_IDLE_SECONDS": "0"}, "--response-idle-seconds"),
        (("--dev-auth",), {"RESPONSE_IDLE_SECONDS": "inf"}, "at most 1,000,000,000"),
        (("--dev-auth",), {"RESPONSE_RETENTION_SECONDS": "1e300"}, "at most 1,000,000,000"),
    ],
)
def test_it_does_not_start_with_invalid_settings(
    flags: tuple[str, ...], environment: dict[str, str], said: str
) -> None:
    code, line = ended(*flags, **environment)
    assert code == 2
    assert said in line


@pytest.fixture(scope="module")
def address(cluster: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server that a browser may call from one origin."""
    name = f"origins_{uuid.uuid4().hex}"
    execute(cluster, f'CREATE DATABASE "{name}"')
    with running(
        "--dev-auth",
        "--listen=[::1]:0",
        "--plugin-url=http://127.0.0.1:9",
        f"--database-url={database_url(cluster, name)}",
        f"--data-dir={tmp_path_factory.mktemp('origins')}",
        environment={**KEYS, f"{PREFIX}CORS_ORIGINS": "https://chat.example, https://b.example"},
        command=COMMAND,
    ) as server:
        yield server.address
    execute(cluster, f'DROP DATABASE "{name}" WITH (FORCE)')


def test_browsers_of_allowed_origins_may_call(address: str) -> None:
    path = "/v1/user/conversations"
    asking = {
        "origin": "https://chat.example",
        "access-control-request-method": "PATCH",
        "access-control-request-headers": "authorization,last-event-id",
    }
    with httpx.Client(base_url=address, timeout=SECONDS) as client:
        allowed = client.options(path, headers=asking)
        assert allowed.status_code == 200
        assert allowed.headers["access-control-allow-origin"] == "https://chat.example"
        refused = client.options(path, headers={**asking, "origin": "https://evil.example"})
        assert "access-control-allow-origin" not in refused.headers
        for name, value, field in (
            ("origin", "https://evil.example", "Origin"),
            ("access-control-request-method", "PUT", "Access-Control-Request-Method"),
            ("access-control-request-headers", "x-y", "Access-Control-Request-Headers"),
        ):
            refused = client.options(path, headers={**asking, name: value})
            message = f"{field}: is not allowed (CORS)"
            assert refused.status_code == 400
            assert refused.headers["content-type"] == "application/json"
            assert refused.headers["vary"] == allowed.headers["vary"]
            assert refused.json() == {
                "code": "bad_request",
                "message": message,
                "error": message,
                "details": {"field": field},
            }
        # A refusal can be read by the page, too.
        answer = client.get(path, headers={"origin": "https://b.example"})
        assert answer.status_code == 401
        assert answer.headers["access-control-allow-origin"] == "https://b.example"
        assert answer.headers["access-control-expose-headers"] == "retry-after"


def test_no_browser_may_call_by_default(alice: User) -> None:
    answer = alice.send("GET", "/v1/user/conversations", headers={"origin": "https://chat.example"})
    assert answer.status_code == 200
    assert "access-control-allow-origin" not in answer.headers


def healthy(health: dict[str, str]) -> dict[str, str] | None:
    return health if health["plugin"] == "ok" else None


def test_health_metrics_and_document(alice: User) -> None:
    alice.start("hello")
    health = until(lambda: healthy(alice.get("/v1/health")), "the plugin is not in time")
    assert (health["status"], health["responseResumer"]) == ("ok", "postgres")
    metrics = alice.http.get("/metrics").text
    assert "memory_conversations_request_seconds" in metrics
    assert "memory_conversations_outbox_waiting" in metrics
    assert alice.http.get("/openapi.json").json()["openapi"] == "3.1.0"


def test_no_content_is_in_the_log(cluster: str, tmp_path: Path) -> None:
    name = f"quiet_{uuid.uuid4().hex}"
    execute(cluster, f'CREATE DATABASE "{name}"')
    with running(
        "--dev-auth",
        "--listen=127.0.0.1:0",
        "--log-level=debug",
        "--plugin-url=http://127.0.0.1:9",
        f"--database-url={database_url(cluster, name)}",
        f"--data-dir={tmp_path}",
        environment=KEYS,
        command=COMMAND,
    ) as server:
        alice = User(server.address, fresh("alice"))
        talk = alice.start("zebrafish content", title="zebrafish title")
        alice.finds("zebrafish query")
        alice.post(f"{talk.user}/messages", {"content": "zebrafish", "id": "zebrafish"}, 400)
        assert server.stop() == 0
    assert not [line for line in server.lines if "zebrafish" in line or alice.name in line]
    execute(cluster, f'DROP DATABASE "{name}" WITH (FORCE)')
