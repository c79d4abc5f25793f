"""SMTP: the server that takes mail in, and the relay that letters leave by."""
