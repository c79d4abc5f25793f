"""Where jobs, lanes and claims live. One conformance suite holds all backends to the same promises."""
