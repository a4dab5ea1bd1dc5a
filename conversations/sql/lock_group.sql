-- Changes to members, owner and transfers of a group happen one at a time.
SELECT groups.id, groups.owner_user_id
FROM groups
WHERE groups.id = (SELECT group_id FROM conversations WHERE conversations.id = $1)
FOR UPDATE
