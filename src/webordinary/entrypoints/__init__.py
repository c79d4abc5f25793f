"""Where the outside calls in: the command line, and functions that a cloud invokes."""
