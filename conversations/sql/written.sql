WITH written AS (
    SELECT *
    FROM unnest(
        $1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::boolean[],
        $8::text[], $9::text[], $10::text[], $11::uuid[], $12::integer[], $13::text[], $14::text[],
        $15::text[]
    ) WITH ORDINALITY AS message (
        id, conversation_id, role, channel, visibility, content, is_list,
        metadata, user_id, agent_id, parent_message_id, memory_epoch, preview, title,
        title_folded, place
    )
),
