"""A memory plugin on Pinecone: copy it, change it, keep what the contract asks for."""
