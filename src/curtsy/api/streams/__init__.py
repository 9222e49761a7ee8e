"""Live streams: WebSockets and server-sent events."""
