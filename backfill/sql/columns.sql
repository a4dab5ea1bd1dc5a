-- The columns of the two legacy tables, wherever the search path finds them.
SELECT t.name AS table_name, a.attname AS column_name, format_type(a.atttypid, NULL) AS type
FROM unnest(ARRAY['agent_memories', 'workspaces']) AS t (name)
JOIN pg_attribute AS a ON a.attrelid = to_regclass(t.name)
WHERE a.attnum > 0 AND NOT a.attisdropped
