-- The text of a recording from the character $2 on, in pieces that begin at or before it.
SELECT first, content
FROM recorded
WHERE
    recording_id = $1
    AND first >= coalesce(
        (SELECT max(first) FROM recorded WHERE recording_id = $1 AND first <= $2), 0
    )
ORDER BY first
