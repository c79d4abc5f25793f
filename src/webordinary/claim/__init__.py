"""Stage 4, waiting -> owned lane: generic workers claim lanes, serve them in order, and let go."""
