"""What is kept of a run: journal, results, bundle."""
