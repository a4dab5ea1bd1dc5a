        -- The comparisons of minutes follow from those of times; they are there for the index.
        AND conversation.updated_minute <= $2
        AND conversation.updated_at <= $2
        AND (conversation.updated_at < $2 OR conversation.id > $3)
        AND (NOT $5::boolean OR conversation.forked_at_conversation_id IS NULL)
        AND (NOT $6::boolean OR NOT EXISTS (
            SELECT FROM conversations AS other
            WHERE
                other.group_id = conversation.group_id
                AND other.updated_minute >= conversation.updated_minute
                AND other.updated_at >= conversation.updated_at
                AND (other.updated_at > conversation.updated_at OR other.id < conversation.id)
        ))
        AND NOT EXISTS (
            SELECT FROM unnest($7::text[]) AS word
            WHERE
                strpos(conversation.title_folded, word) = 0
                AND strpos(conversation.metadata_folded, word) = 0
        )
