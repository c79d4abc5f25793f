"""What the core needs from the world, as small protocols. Every method is one atomic promise."""
