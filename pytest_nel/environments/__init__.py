"""What turns a benchmark's name into problems and verdicts."""
