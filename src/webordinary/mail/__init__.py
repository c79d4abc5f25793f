"""Mail in and out: SMTP, IMAP, mail services, SES, and the checks of who wrote it."""
