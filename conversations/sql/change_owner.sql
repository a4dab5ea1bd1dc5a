-- $1: the group; $2: the former owner, who becomes manager; $3: the new owner. The former owner comes
-- first, because a group has only one owner at any time.
WITH former AS (
    UPDATE memberships SET level = 3 WHERE group_id = $1 AND user_id = $2 RETURNING group_id
),
room AS (
    UPDATE groups SET owner_user_id = $3 WHERE id = $1
)
UPDATE conversations SET owner_user_id = $3 WHERE group_id = $1
