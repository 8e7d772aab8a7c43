"""Locks on files, where the operating system has them.

``fcntl`` is the module, or None on Windows: there two runs in one directory, and two servers at one
port, are not noticed.
"""

from typing import Any

fcntl: Any
try:
    import fcntl
except ImportError:  # pragma: no cover
    fcntl = None

__all__ = ["fcntl"]
