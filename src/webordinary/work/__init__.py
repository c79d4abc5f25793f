"""Stage 5: a job becomes an edited site."""
