"""The embedded default: several processes on one SQLite file, durable commits, no server."""
