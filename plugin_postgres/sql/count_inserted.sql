SELECT n_tup_ins AS inserted, n_live_tup AS alive
FROM pg_stat_user_tables
WHERE relid = 'memory_plugin.memory_records'::regclass
