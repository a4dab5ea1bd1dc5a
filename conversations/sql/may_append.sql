            NOT EXISTS (
                SELECT
                FROM unnest(($10::text[])[place.first_asker : place.last_asker]) AS asker
                WHERE coalesce(
                    (
                        SELECT membership.level
                        FROM memberships AS membership
                        WHERE
                            membership.group_id = stored.group_id
                            AND membership.user_id = asker
                    ),
                    0
                ) < $11::smallint
            )
