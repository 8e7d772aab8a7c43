"""The pytest ring."""
