SELECT
    (SELECT count(*) FROM batches) AS batches,
    (SELECT count(*) FROM deletions) AS deletions,
    (SELECT count(*) FROM questions) AS questions
