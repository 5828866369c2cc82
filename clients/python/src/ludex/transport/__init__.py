"""Sessions and WebSocket connections to a server."""
