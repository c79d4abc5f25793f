"""Mail services that receive for us and hand each mail over by an HTTP request: one module a service."""
