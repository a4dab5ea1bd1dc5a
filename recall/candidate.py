"""A memory with everything that ranking needs, computed once per memory."""

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from recall.injection import line_of
from recall.memory import Memory
from recall.tokens import estimate_tokens

BORDER: Final = "\x00"
"""Separates two texts; no memory contains this character."""


@dataclass(slots=True)
class Candidate:
    """A memory, and what requests compare.

    A request goes through two hundred candidates with cold caches, where following a pointer costs
    more than the comparison. So every field it needs is here and not in the memory.

    `text` is searched for words: in lower case the content, the key from `key_at` on, and the
    caller's metadata from `metadata_at` on, each followed by a border. `plain` is equal for
    contents that differ only in case and white space. `order` sorts newest first, then by id.
    `line` is the memory as it appears in a block.
    """

    memory: Memory
    id: str = field(init=False)
    owner: str = field(init=False)
    updated_at: datetime = field(init=False)
    expires_at: datetime | None = field(init=False)
    text: str = field(init=False, repr=False)
    key_at: int = field(init=False)
    metadata_at: int = field(init=False)
    plain: str = field(init=False, repr=False)
    tokens: int = field(init=False)
    order: tuple[float, str] = field(init=False)
    line: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        memory = self.memory
        self.id, self.owner = memory.id, memory.api_key_id
        self.updated_at, self.expires_at = memory.updated_at, memory.expires_at
        own = memory.caller_metadata if memory.metadata else None
        content, key = memory.content.lower(), memory.key.lower()
        metadata = json.dumps(own, ensure_ascii=False).lower() if own else ""
        self.text = f"{content}{BORDER}{key}{BORDER}{metadata}{BORDER}"
        self.key_at = len(content) + 1
        self.metadata_at = self.key_at + len(key) + 1
        self.plain = " ".join(memory.content.casefold().split())
        self.tokens = estimate_tokens(memory.content)
        self.order = (-memory.created_at.timestamp(), memory.id)
        self.line = line_of(memory.content)
