"""The model client and the transports under it."""
