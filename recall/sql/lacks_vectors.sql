-- Whether a memory that can still be recalled has no vector of this model.
SELECT EXISTS (
    SELECT FROM memories
    WHERE embedded_with IS DISTINCT FROM $1
      AND (expires_at IS NULL OR expires_at > now())
)
