-- Blocks that were chosen before this are chosen anew.
UPDATE owners SET edits = edits + 1 WHERE owner = ANY($1::text[])
