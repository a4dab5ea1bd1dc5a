            (
                SELECT count(*)
                FROM memberships AS membership
                WHERE
                    membership.group_id = stored.group_id
                    AND membership.user_id
                        = ANY(($10::text[])[place.first_asker : place.last_asker])
                    AND membership.level >= $11::smallint
            ) = place.last_asker - place.first_asker + 1
