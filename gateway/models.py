"""The language model and the embedder: both optional, both best effort."""


class Models:
    """None of them yet."""

    finds_facts = False
    embeds = False

    async def embed(self, texts: list[str]) -> list[list[float] | None]:
        """An embedding for each text, or None where there is none."""
        return [None] * len(texts)

    async def embed_query(self, _query: str) -> list[float] | None:
        return None

    async def find_facts(self, _text: str) -> list[str] | None:
        return None

    async def aclose(self) -> None:
        return
