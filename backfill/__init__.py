"""`memory-backfill`: copies an installation's legacy memories to any plugin, and verifies the copy.

    source      the legacy tables, in one snapshot
    target      the plugin, with waiting and retries
    mapping     the namespace of a row, or why it has none
    writer      turns rows into writes
    dryrun, apply, verify                 the three modes
    listing, sighting, probe              how verify proves a row
    journal, rejects, findings, report    what is written to disk

It reaches the plugin through `contract` only, so it works with a plugin from any author.
"""
