"""Virtual time, faults, workloads, checkers, and the exhaustive model of the claim protocol."""
