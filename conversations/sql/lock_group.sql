-- Everything about members, owners and transfers of a group happens one after the other.
SELECT groups.id, groups.owner_user_id
FROM groups
WHERE groups.id = (SELECT group_id FROM conversations WHERE conversations.id = $1)
FOR UPDATE
