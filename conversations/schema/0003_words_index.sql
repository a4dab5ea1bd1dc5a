-- A search looks into the index once for each group. With a list of pending entries each of these
-- looks would read all of them: seconds for a user with thousands of conversations. Nobody waits for
-- the words to be written, so they go straight to their place.
ALTER INDEX words_keys SET (fastupdate = off);
SELECT gin_clean_pending_list('memory_conversations.words_keys'::regclass);
