-- The namespaces of all groups that the user $1 can see; $2 is their prefix.
SELECT coalesce(array_agg($2::text || group_id), '{}') FROM memberships WHERE user_id = $1
