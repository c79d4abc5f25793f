"""Agents: whoever edits a site, behind `ports/agent.py`."""
