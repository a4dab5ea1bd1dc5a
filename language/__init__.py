"""What we do with text: redaction, sentences, tokens, facts, embeddings."""
