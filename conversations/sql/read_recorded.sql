-- The pieces of a recording from the one that contains the offset $2 on.
SELECT first, content
FROM recorded
WHERE
    recording_id = $1
    AND first >= coalesce(
        (SELECT max(first) FROM recorded WHERE recording_id = $1 AND first <= $2), 0
    )
ORDER BY first
