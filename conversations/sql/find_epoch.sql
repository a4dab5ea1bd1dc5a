-- The newest epoch of the agent $2 along the path of $1. A fork also inherits an epoch that began right
-- before the replaced message.
WITH
-- include: segments
SELECT max(epochs.epoch)
FROM segment AS part
JOIN epochs
    ON epochs.conversation_id = part.id
    AND epochs.agent_id = $2
    AND epochs.from_sequence <= part.until
