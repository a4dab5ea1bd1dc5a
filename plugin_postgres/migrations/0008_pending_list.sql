-- serves: 0003
--
-- New memories wait in a list of the index of words until they are sorted in. The plugin does that itself
-- now, when there are searches or writing pauses (`plugin_postgres.pending`), and not a write whenever the
-- list is full: so it may be longer. Nothing that is stored changes, and the table is not touched.
ALTER INDEX memory_plugin.memory_records_words SET (gin_pending_list_limit = 32768);
