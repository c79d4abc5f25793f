"""Stage 1, bytes -> trusted mail."""
