-- Only the owner of an index may do this. Otherwise PostgreSQL does it, at the latest when the list is full.
SELECT sum(gin_clean_pending_list(oid))::bigint
FROM pg_class
WHERE
    oid IN (
        to_regclass('memory_plugin.memory_records_words'), to_regclass('memory_plugin.memory_records_families')
    )
    AND pg_has_role(relowner, 'USAGE')
    AND pg_try_advisory_xact_lock($1)
