-- How many memories match.
WITH
-- include: count_matching
SELECT count(*) FROM counted
