"""The story on two screens: a mail is received; a job is performed."""
