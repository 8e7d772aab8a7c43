"""Intervals and summaries; pure functions."""
