"""Stage 3, request -> queued job: submit it to its lane, then ask the gatekeeper who will serve it."""
