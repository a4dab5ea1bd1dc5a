-- One writer at a time for each memory, on any number of workers; in order, so that two writers of
-- several memories cannot wait for each other.
SELECT pg_advisory_xact_lock(place)
FROM (
    SELECT DISTINCT hashtextextended('recall:' || id, 0) AS place
    FROM unnest($1::text[]) AS id
    ORDER BY 1
) AS places
