"""The operator's pages and their JSON API: who owns what, what waits and why; with a token, actions."""
