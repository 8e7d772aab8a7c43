"""Where the output of servers goes."""

from pytest_nel.core.keys import safe_name


def log_name(name: str, replica: int, replicas: int) -> str:
    """The log's file name: one for each replica."""
    number = f"-{replica}" if replicas > 1 else ""
    return f"server-{safe_name(name)}{number}.log"
