"""The built-in benchmarks, one file each."""
