"""What a server needs beyond the other services: keys, projects, idempotency, its store for clients."""
