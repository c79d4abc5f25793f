"""The operator's page and its JSON API: who owns what, what waits and why; and a few deeds, with a token."""
