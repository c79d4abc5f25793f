"""Sites in git repositories: mirrors, trees without a git directory, and pushes that are fenced."""
