"""The local model compared with the values that its authors publish."""

from pathlib import Path

import pytest

from language.minilm import DIMENSIONS, MiniLM, ModelMissing, model_directory
from language.wordpiece import WordPiece

np = pytest.importorskip("numpy")


@pytest.fixture(scope="module")
def directory() -> Path:
    try:
        return model_directory()
    except ModelMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def model(directory: Path) -> MiniLM:
    return MiniLM(directory)


@pytest.mark.parametrize(
    ("text", "beginning"),
    [
        (
            "This is an example sentence",
            [0.0676569, 0.0634959, 0.0487131, 0.0793049, 0.0374480, 0.0026528, 0.0393749],
        ),
        (
            "Each sentence is converted",
            [0.0864386, 0.1027627, 0.0053946, 0.0020444, -0.0099633, 0.0253855, 0.0492875],
        ),
    ],
)
def test_the_vectors_are_those_of_the_original(
    model: MiniLM, text: str, beginning: list[float]
) -> None:
    (vector,) = model.embed([text])
    assert vector.shape == (DIMENSIONS,)
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
    assert vector[:7].tolist() == pytest.approx(beginning, abs=2e-6)


def test_a_text_has_the_same_vector_alone_and_in_a_batch(model: MiniLM) -> None:
    texts = ["a", "I live in Berlin.", "", "word " * 900, "你好", "I work in Berlin."]
    together = model.embed(texts)
    for text, vector in zip(texts, together, strict=True):
        assert float(model.embed([text])[0] @ vector) == pytest.approx(1, abs=1e-5)


def test_what_means_the_same_is_near(model: MiniLM) -> None:
    question, near, far = model.embed(
        ["Where does the dog sleep?", "Our puppy's bed is in the kitchen.", "Taxes are due in May."]
    )
    assert question @ near > question @ far + 0.2


def test_the_tokenizer_cuts_words_into_pieces(directory: Path) -> None:
    pieces = (directory / "vocab.txt").read_text(encoding="utf-8").split("\n")
    numbers = WordPiece(directory / "vocab.txt").encode("Hello, Wörld! unaffable 🎉\u200b", 32)
    assert [pieces[it] for it in numbers] == [
        "[CLS]", "hello", ",", "world", "!", "una", "##ffa", "##ble", "[UNK]", "[SEP]",
    ]  # fmt: skip
    assert len(WordPiece(directory / "vocab.txt").encode("word " * 900, 256)) == 256


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"something else")
    with pytest.raises(ModelMissing, match="SHA-256"):
        MiniLM(tmp_path)
    with pytest.raises(ModelMissing, match="cannot be read"):
        MiniLM(tmp_path / "nowhere")
