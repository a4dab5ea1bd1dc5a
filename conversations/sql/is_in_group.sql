SELECT EXISTS (
    SELECT FROM conversations AS one
    JOIN conversations AS other ON other.group_id = one.group_id
    WHERE one.id = $1 AND other.id = $2
)
