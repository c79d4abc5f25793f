"""Stage 6: a build becomes a visible release. Here is the gate that decides what may be published."""
