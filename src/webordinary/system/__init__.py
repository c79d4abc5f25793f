"""What the machine gives: the clock, durable files, processes, HTTP and S3 clients."""
