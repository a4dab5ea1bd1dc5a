-- What the kinds and fields of a search add to its lookups in the word index.
SELECT coalesce(memory_plugin.search_filter($1::text[], $2::jsonb), '')
