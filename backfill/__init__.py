"""`memory-backfill`: copies an installation's legacy memories to any plugin, and proves it.

    source    the legacy tables, in one snapshot        target    the plugin, asked with patience
    mapping   where a row belongs, or why nowhere       writer    rows become writes
    dryrun, apply, verify                               the three modes
    listing, sighting, probe                            how verify proves a row
    journal, rejects, findings, report                  what is written down

It reaches the plugin through `contract` only, so it works on one that never heard of us.
"""
