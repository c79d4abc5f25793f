"""`webordinary demo`: the three scenarios, played with real processes."""
