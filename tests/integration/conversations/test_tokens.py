"""Ruling 1: tokens signed with a secret, and tokens signed with keys from a real key server."""

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Iterator
from datetime import datetime, timedelta, tzinfo
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from conversations.errors import Unauthorized, Unavailable
from conversations.jwks import KeySet
from conversations.tokens import Agents, DevTokens, SignedTokens, bearer, read_agent_keys
from tests.waiting import SECONDS

pytestmark = pytest.mark.anyio

SECRET = "a secret of more than thirty-two bytes"
RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC = ec.generate_private_key(ec.SECP256R1())
ED = ed25519.Ed25519PrivateKey.generate()


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conversations.jwks._TIMEOUT_SECONDS", SECONDS)


class KeyServer:
    """Answers with a key set, and counts how often it was asked."""

    def __init__(self) -> None:
        self.keys: list[dict[str, Any]] = []
        self.asked = 0
        self.status = 200
        keys = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                keys.asked += 1
                body = json.dumps({"keys": keys.keys}).encode()
                self.send_response(keys.status)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/keys"

    def publish(self, **keys: Any) -> None:
        self.keys = [published(kid, key) for kid, key in keys.items()]


def published(kid: str, key: Any) -> dict[str, Any]:
    algorithms: dict[Any, Any] = {
        rsa.RSAPrivateKey: jwt.algorithms.RSAAlgorithm,
        ec.EllipticCurvePrivateKey: jwt.algorithms.ECAlgorithm,
        ed25519.Ed25519PrivateKey: jwt.algorithms.OKPAlgorithm,
    }
    [algorithm] = [made for kind, made in algorithms.items() if isinstance(key, kind)]
    return {**algorithm.to_jwk(key.public_key(), as_dict=True), "kid": kid}


@pytest.fixture
def keys() -> Iterator[KeyServer]:
    server = KeyServer()
    thread = threading.Thread(target=server.server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.server.shutdown()
    server.server.server_close()
    thread.join()


def signed(key: Any, algorithm: str, kid: str | None = None, **claims: Any) -> str:
    headers = None if kid is None else {"kid": kid}
    body = {"sub": "alice", "exp": time.time() + 600, **claims}
    return jwt.encode(body, key, algorithm=algorithm, headers=headers)


def by_secret(**options: Any) -> SignedTokens:
    chosen = {"issuer": None, "audience": None, **options}
    return SignedTokens(secret=SECRET, keys=None, **chosen)


def by_keys(url: str, *, kept: float = 300, between: float = 10, **options: Any) -> SignedTokens:
    chosen = {"issuer": None, "audience": None, **options}
    return SignedTokens(secret=None, keys=KeySet(url, kept=kept, between=between), **chosen)


async def refused(tokens: SignedTokens | DevTokens, token: str) -> bool:
    try:
        await tokens.user(token)
    except Unauthorized:
        return True
    return False


async def test_a_secret() -> None:
    tokens = by_secret()
    assert await tokens.user(signed(SECRET, "HS256")) == "alice"
    assert await tokens.user(signed(SECRET, "HS256", sub="auth0|7/a%20b")) == "auth0|7/a%20b"
    without_end = jwt.encode({"sub": "alice"}, SECRET, algorithm="HS256")
    assert await tokens.user(without_end) == "alice"
    for token in (
        signed("another secret of thirty-two bytes!!", "HS256"),
        signed(SECRET * 2, "HS384"),
        signed(RSA, "RS256"),
        signed(SECRET, "HS256", exp=time.time() - 1),
        signed(SECRET, "HS256", nbf=time.time() + 60),
        signed(SECRET, "HS256", exp="soon"),
        jwt.encode({"sub": 7}, SECRET, algorithm="HS256"),
        jwt.encode({"sub": "alice"}, "", algorithm="none"),
        "",
        "x",
        "a.b.c",
        "ä.ö.ü",
    ):
        assert await refused(tokens, token), token


@pytest.mark.parametrize(
    ("claim", "value", "is_valid"),
    [
        ("exp", str(10**400), True),
        ("exp", f'"{10**400}"', True),
        ("exp", str(-(10**400)), False),
        ("exp", "1" + "0" * 5000, False),
        ("exp", "1e18", True),
        ("exp", "1e400", False),
        ("exp", "-1e400", False),
        ("exp", "NaN", False),
        ("exp", "[]", False),
        ("nbf", str(10**400), False),
        ("nbf", str(-(10**400)), True),
        ("nbf", "1e400", False),
        ("nbf", "Infinity", False),
        ("iat", str(10**400), False),
        ("iat", "1e400", False),
        ("iat", "NaN", False),
        ("x", "[" * 20_000, False),
    ],
    ids=lambda value: str(value)[:12],
)
async def test_a_time_of_any_size_is_valid_or_not(claim: str, value: str, is_valid: bool) -> None:
    tokens = by_secret()
    parts = (b'{"alg": "HS256", "typ": "JWT"}', f'{{"sub": "alice", "{claim}": {value}}}'.encode())
    said = b".".join(map(encoded, parts))
    mark = encoded(hmac.new(SECRET.encode(), said, hashlib.sha256).digest())
    token = b".".join([said, mark]).decode()
    assert await refused(tokens, token) is not is_valid
    # From the cache, too.
    assert await refused(tokens, token) is not is_valid


def encoded(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


async def test_thousands_of_tokens_are_verified_once_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tokens of all followers are checked again every second."""
    tokens = by_secret()
    given = {f"user-{n}": signed(SECRET, "HS256", sub=f"user-{n}") for n in range(5000)}
    for token in given.values():
        await tokens.user(token)
    monkeypatch.delattr("conversations.tokens.jwt.decode")
    assert [await tokens.user(token) for token in given.values()] == list(given)


async def test_a_cached_token_still_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = by_secret()
    token = signed(SECRET, "HS256", exp=time.time() + 600)
    assert await tokens.user(token) == "alice"
    now = time.time

    class Later(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return super().now(tz) + timedelta(seconds=600)

    # The clocks of the cache and of the library that reads tokens.
    monkeypatch.setattr(time, "time", lambda: now() + 600)
    monkeypatch.setattr("jwt.api_jwt.datetime", Later)
    assert await refused(tokens, token)


@pytest.mark.parametrize("option", ["issuer", "audience"])
async def test_issuer_and_audience_count_when_set(option: str) -> None:
    tokens = by_secret(**{option: "here"})
    claim = {"issuer": "iss", "audience": "aud"}[option]
    assert await tokens.user(signed(SECRET, "HS256", **{claim: "here"})) == "alice"
    assert await refused(tokens, signed(SECRET, "HS256", **{claim: "elsewhere"}))
    assert await refused(tokens, signed(SECRET, "HS256"))
    relaxed = by_secret()
    assert await relaxed.user(signed(SECRET, "HS256", iss="any", aud=["any"])) == "alice"
    assert await by_secret(audience="b").user(signed(SECRET, "HS256", aud=["a", "b"])) == "alice"


async def test_keys_of_several_kinds(keys: KeyServer) -> None:
    keys.publish(first=RSA, second=EC, third=ED)
    tokens = by_keys(keys.url, between=1000)
    assert await tokens.user(signed(RSA, "RS256", "first")) == "alice"
    assert await tokens.user(signed(RSA, "PS384", "first")) == "alice"
    assert await tokens.user(signed(EC, "ES256", "second")) == "alice"
    assert await tokens.user(signed(ED, "EdDSA", "third")) == "alice"
    assert await tokens.user(signed(RSA, "RS256")) == "alice"
    for token in (
        signed(OTHER_RSA, "RS256", "first"),
        signed(OTHER_RSA, "RS256"),
        signed(EC, "ES256", "first"),
        signed(SECRET, "HS256", "first"),
        jwt.encode({"sub": "alice"}, "", algorithm="none", headers={"kid": "first"}),
    ):
        assert await refused(tokens, token)
    assert keys.asked == 1


async def test_a_public_key_is_not_accepted_as_a_secret(keys: KeyServer) -> None:
    """The attack on libraries that take the algorithm from the token."""
    keys.publish(first=RSA)
    pem = RSA.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    head, body, _ = signed(SECRET, "HS256", "first").split(".")
    digest = hmac.digest(pem, f"{head}.{body}".encode(), hashlib.sha256)
    forged = f"{head}.{body}.{base64.urlsafe_b64encode(digest).decode().rstrip('=')}"
    assert await refused(by_keys(keys.url), forged)


async def test_a_key_that_says_what_it_is_for_serves_nothing_else(keys: KeyServer) -> None:
    keys.keys = [
        {**published("only", RSA), "alg": "RS512"},
        {**published("sealing", OTHER_RSA), "use": "enc"},
        {"kty": "oct", "k": "c2VjcmV0", "kid": "shared"},
        {"kty": "unheard of", "kid": "odd"},
    ]
    tokens = by_keys(keys.url)
    assert await tokens.user(signed(RSA, "RS512", "only")) == "alice"
    assert await refused(tokens, signed(RSA, "RS256", "only"))
    assert await refused(tokens, signed(OTHER_RSA, "RS256", "sealing"))


async def test_a_new_key_is_fetched_once_and_not_for_every_unknown_one(keys: KeyServer) -> None:
    keys.publish(old=RSA)
    tokens = by_keys(keys.url, between=0.0)
    assert await tokens.user(signed(RSA, "RS256", "old")) == "alice"
    keys.publish(new=OTHER_RSA)
    assert await tokens.user(signed(OTHER_RSA, "RS256", "new")) == "alice"
    assert keys.asked == 2
    # The old key is gone, and with it the token that was remembered.
    assert await refused(tokens, signed(RSA, "RS256", "old"))
    bounded = by_keys(keys.url, between=1000)
    before = keys.asked
    for number in range(50):
        assert await refused(bounded, signed(OTHER_RSA, "RS256", f"unknown{number}"))
    assert keys.asked == before + 1


async def test_keys_outlive_their_server_for_a_while(keys: KeyServer) -> None:
    keys.publish(first=RSA)
    tokens = by_keys(keys.url, kept=0.0, between=0.0)
    token = signed(RSA, "RS256", "first")
    assert await tokens.user(token) == "alice"
    keys.status = 500
    assert await tokens.user(token) == "alice"
    assert await tokens.user(signed(RSA, "RS256", "first", n=1)) == "alice"


async def test_without_any_keys_no_token_can_be_verified(keys: KeyServer) -> None:
    keys.status = 404
    with pytest.raises(Unavailable):
        await by_keys(keys.url).user(signed(RSA, "RS256", "first"))


async def test_dev_auth_uses_the_token_as_the_user() -> None:
    assert await DevTokens().user("alice") == "alice"
    assert await refused(DevTokens(), "x" * 256)


def test_bearer() -> None:
    assert bearer("Bearer abc") == "abc"
    assert bearer("bearer   abc ") == "abc"
    assert bearer("Bearer " + "ünal".encode().decode("latin-1")) == "ünal"
    for value in ("", "abc", "Basic abc", "Bearer", "Bearer  "):
        with pytest.raises(Unauthorized):
            bearer(value)


def test_agent_keys() -> None:
    agents = Agents(read_agent_keys("bot=a=b, other=key ,"))
    assert agents.name("a=b") == "bot"
    assert agents.name("key") == "other"
    for key in ("", "a", "bot", "a=b "):
        with pytest.raises(Unauthorized):
            agents.name(key)
    assert read_agent_keys(None) == {}
    for text in ("bot", "=key", "bot=", "bot=1,bot=2"):
        with pytest.raises(ValueError, match=r"must be|twice"):
            read_agent_keys(text)
    with pytest.raises(ValueError, match=r"^gives the agent other the key of another agent$"):
        read_agent_keys("bot=sesame,other=sesame")
