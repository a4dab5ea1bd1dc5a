"""How many tokens a text takes, without asking a model."""

from language.tokens import estimate_tokens

__all__ = ["estimate_tokens"]
