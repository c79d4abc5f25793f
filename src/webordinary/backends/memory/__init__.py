"""The reference model: the claim protocol in plain Python, for tests, simulation and comparison."""
