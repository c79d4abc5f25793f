"""Publishing into buckets of a cloud object store that serves them as web sites."""
