"""From numbers to verdicts and exit codes."""
