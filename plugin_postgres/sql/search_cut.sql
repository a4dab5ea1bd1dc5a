-- Part of a statement: the weights of those clues in `state` that a memory has and whose lookup was cut off, added up.
            -- Checking the first few one by one is several times as fast as a loop.
            CASE WHEN content_tsv @@ (SELECT cut[1] FROM state) THEN (SELECT cut_weights[1] FROM state) ELSE 0 END
            + CASE WHEN content_tsv @@ (SELECT cut[2] FROM state) THEN (SELECT cut_weights[2] FROM state) ELSE 0 END
            + CASE WHEN content_tsv @@ (SELECT cut[3] FROM state) THEN (SELECT cut_weights[3] FROM state) ELSE 0 END
            + CASE WHEN content_tsv @@ (SELECT cut[4] FROM state) THEN (SELECT cut_weights[4] FROM state) ELSE 0 END
            + CASE WHEN (SELECT cardinality(cut) > 4 FROM state) THEN coalesce(
                (
                    SELECT sum(clue.weight)
                    FROM unnest((SELECT cut[5:] FROM state), (SELECT cut_weights[5:] FROM state))
                        AS clue (lexeme, weight)
                    WHERE content_tsv @@ clue.lexeme
                ), 0
            ) ELSE 0 END
