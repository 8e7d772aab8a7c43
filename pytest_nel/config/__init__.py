"""Text in, RunConfig out; knows no plugin."""
