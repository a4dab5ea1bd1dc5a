"""The local model in a process of its own, asked by our embedder and by OpenAI's client."""

import asyncio
import http.client
import signal
import subprocess
import sys
from collections.abc import Iterator

import httpx
import openai
import pytest

from language.embedder import Embedder
from language.minilm import NAME, ModelMissing, model_directory

pytestmark = pytest.mark.anyio
pytest.importorskip("numpy")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    try:
        model_directory()
    except ModelMissing as missing:
        pytest.skip(str(missing))
    command = [sys.executable, "-m", "language.embedding_server", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        yield process.stderr.readline().rsplit(" ", 1)[1].strip()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        assert process.stderr.read() == ""


async def test_our_embedder_gets_vectors(url: str) -> None:
    embedder = Embedder(url, NAME, timeout=60)
    dog, puppy, tax = await embedder.embed(["The dog sleeps.", "A puppy naps.", "Taxes are due."])
    assert dog is not None
    assert puppy is not None
    assert tax is not None
    assert len(dog) == 384
    assert sum(map(float.__mul__, dog, puppy)) > sum(map(float.__mul__, dog, tax)) + 0.2
    assert await embedder.embed_query("The dog sleeps.") == pytest.approx(dog, abs=1e-5)
    await embedder.aclose()


def test_openai_client_gets_vectors(url: str) -> None:
    with openai.OpenAI(base_url=url, api_key="none") as client:
        answer = client.embeddings.create(model=NAME, input=["This is an example sentence"])
        assert answer.data[0].embedding[:3] == pytest.approx(
            [0.0676569, 0.0634959, 0.0487131], abs=1e-5
        )
        assert [it.id for it in client.models.list()] == [NAME]


async def test_a_question_goes_before_the_rest_of_a_batch(url: str) -> None:
    embedder = Embedder(url, NAME, timeout=100)
    batch = asyncio.create_task(embedder.embed(["a long text about many things " * 40] * 12))
    await asyncio.sleep(0.2)
    assert await embedder.embed_query("What is it about?")
    assert not batch.done()
    assert all(await batch)
    await embedder.aclose()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "The body must be JSON."),
        (b"[" * 100_000, "The body must be JSON."),
        (b"[]", "input: must be a string or a list of strings"),
        (b'{"input": []}', "input: must be a string or a list of strings"),
        (b'{"input": [1]}', "input: must be a string or a list of strings"),
        (b'{"input": "a", "encoding_format": "x"}', "encoding_format: must be float or base64"),
        (b'{"input": [' + b'"a",' * 256 + b'"a"]}', "input: must have at most 256 texts"),
    ],
    ids=lambda it: str(it)[:30],
)
def test_a_bad_request_is_explained(url: str, content: bytes, message: str) -> None:
    answer = httpx.post(f"{url}/embeddings", content=content, timeout=60)
    assert (answer.status_code, answer.json()["error"]["message"]) == (400, message)


def test_other_paths_and_large_bodies_are_refused(url: str) -> None:
    assert httpx.get(f"{url}/x", timeout=60).status_code == 404
    assert httpx.post(f"{url}/x", content=b"{}", timeout=60).status_code == 404
    connection = http.client.HTTPConnection(url.split("/")[2], timeout=60)
    connection.putrequest("POST", "/v1/embeddings")
    connection.putheader("content-length", str(2**30))
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()


def test_the_command_checks_the_model(url: str) -> None:
    assert url
    subprocess.run(
        [sys.executable, "-m", "language.embedding_server", "--check"], check=True, timeout=110
    )
