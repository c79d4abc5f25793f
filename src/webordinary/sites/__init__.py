"""Sites on disk and on the web: git, builds, releases, and the server that shows them."""
