WITH asked AS (
    SELECT *
    FROM unnest(
        $1::uuid[], $2::integer[], $3::boolean[], $4::boolean[], $5::text[], $6::text[],
        $7::text[], $8::integer[], $9::integer[]
    ) AS place (
        id, count, is_visible, has_user_message, preview, title, title_folded,
        first_asker, last_asker
    )
),
