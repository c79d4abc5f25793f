"""Settings, and the one place that puts everything together."""
