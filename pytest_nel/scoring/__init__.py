"""How answers are judged; pure functions."""
