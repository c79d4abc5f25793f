"""A mailbox that is read over IMAP."""
