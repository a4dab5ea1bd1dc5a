"""A memory with what ranking needs of it, made once however often the memory is found."""

import json
from dataclasses import dataclass, field

from recall.memory import Memory
from recall.tokens import estimate_tokens


@dataclass(slots=True)
class Candidate:
    """A memory; its texts in lower case, in which words are looked for; its size and its place.

    `plain` is equal for contents that differ in case and white space only; `order` is newest
    first, then by id.
    """

    memory: Memory
    content: str = field(init=False, repr=False)
    key: str = field(init=False, repr=False)
    metadata: str = field(init=False, repr=False)
    plain: str = field(init=False, repr=False)
    tokens: int = field(init=False)
    order: tuple[float, str] = field(init=False)

    def __post_init__(self) -> None:
        memory = self.memory
        self.content = memory.content.lower()
        self.key = memory.key.lower()
        own = memory.caller_metadata if memory.metadata else None
        self.metadata = json.dumps(own, ensure_ascii=False).lower() if own else ""
        plain = " ".join(memory.content.casefold().split())
        # Mostly they are the same, and need not be held twice.
        self.plain = self.content if plain == self.content else plain
        self.tokens = estimate_tokens(memory.content)
        self.order = (-memory.created_at.timestamp(), memory.id)
