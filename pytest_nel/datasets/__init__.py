"""Rows from somewhere."""
