message.channel = 'HISTORY'
            AND message.visibility = 'user'
            AND (
                $4::uuid[] IS NULL
                OR EXISTS (
                    SELECT FROM unnest($4::uuid[], $5::integer[], $6::integer[])
                        AS part (id, first, until)
                    WHERE
                        part.id = message.conversation_id
                        AND message.sequence >= part.first
                        AND message.sequence < part.until
                )
            )
            AND (
                $7::timestamptz IS NULL
                OR message.created_at < $7
                OR (message.created_at = $7 AND message.sequence < $8::integer)
            )
