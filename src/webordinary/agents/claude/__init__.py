"""Claude Code as the agent: the real coding agent, started through its SDK and kept in a sandbox."""
