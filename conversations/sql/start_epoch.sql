INSERT INTO epochs (conversation_id, agent_id, epoch, from_sequence) VALUES ($1, $2, $3, $4)
