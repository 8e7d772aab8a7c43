"""Planning, solving ahead, scoring: what an attempt is, without pytest."""
