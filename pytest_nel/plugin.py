"""The pytest11 entry point: declares options and hands over to pytest_nel.hooks."""
