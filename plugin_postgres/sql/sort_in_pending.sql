-- Only the owner of an index may. For others PostgreSQL does it, at the latest when the list is full.
SELECT gin_clean_pending_list(oid)
FROM pg_class
WHERE
    oid = to_regclass('memory_plugin.memory_records_words')
    AND pg_has_role(relowner, 'USAGE')
    AND pg_try_advisory_xact_lock($1)
