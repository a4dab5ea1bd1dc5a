"""Estimates the number of tokens in a text, without a model."""

from language.tokens import estimate_tokens

__all__ = ["estimate_tokens"]
