"""Rooms without a way out: where the agent and the build run, and what they may use up."""
