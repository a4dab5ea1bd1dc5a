-- What the kinds and fields of a search add to what the index of words is asked for.
SELECT coalesce(memory_plugin.search_filter($1::text[], $2::jsonb), '')
