"""Which check blocks which, so that one defect is not reported as twenty.

A failed check is *blocked* if it depends on another one that also failed: its own requirement was
not tested either way. `rests_on` of a `Failure` names the check of a failed preparation; the table
below is for checks that expect a status or a stored value that another check tests.
"""

# Each root, and the checks whose failure means nothing while the root fails.
_BLOCKS: dict[str, tuple[str, ...]] = {
    "namespaces.put-keeps-what-is-absent": (
        "concurrency.patches-of-different-fields",
        "errors.wrong-types-in-a-namespace",
        "isolation.metadata",
        "namespaces.keeps-metadata-exactly",
        "namespaces.put-replaces-metadata",
        "namespaces.refresh-keeps-memories",
        "ttl.no-write-into-an-expired-namespace",
        "ttl.other-patches-do-not-rescue",
        "ttl.patch-moves-the-end",
        "ttl.put-keeps-the-ttl",
        "wire.dot-segments",
        "wire.encoded-slash",
        "wire.semicolons",
    ),
    "writes.unknown-namespace": (
        "batch.one-bad-write",
        "concurrency.delete-while-writing",
        "consistency.delete-right-away",
        "deletion.leaves-the-neighbours",
        "deletion.no-write-afterwards",
        "deletion.takes-the-memories",
        "generated.coverage",
        "generated.fuzzing",
        "generated.stateful",
        "namespaces.delete-unknown",
        "namespaces.patch-unknown",
        "ttl.no-write-into-an-expired-namespace",
        "ttl.put-makes-an-expired-namespace-anew",
        "wire.fields-of-namespaces",
    ),
    "search.empty-is-a-list": (
        "embedding.unknown-dimension",
        "fts.nothing-found",
        "generated.coverage",
        "generated.examples",
        "generated.fuzzing",
        "generated.stateful",
        "search.unknown-namespaces",
    ),
}

PUT = "namespaces.put-creates"
WRITE = "writes.answers-id-and-namespace"
SEARCH = "search.several-namespaces"


def roots_of(check_id: str, rests_on: str | None) -> list[str]:
    """The checks that may block this one."""
    declared = [root for root, blocked in _BLOCKS.items() if check_id in blocked]
    found = [*([rests_on] if rests_on else []), *declared]
    return [root for root in dict.fromkeys(found) if root != check_id]


def declared_ids() -> set[str]:
    """Every check that is named here."""
    return {PUT, WRITE, SEARCH, *_BLOCKS, *(name for names in _BLOCKS.values() for name in names)}
