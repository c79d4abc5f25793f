"""Peers side by side on the same machine, in the same run. Never imported by the package."""
