"""A benchmark behind HTTP: problems are handed out, answers are judged."""
