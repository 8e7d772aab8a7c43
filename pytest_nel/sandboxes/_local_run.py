"""Limits the process that it is in, and becomes a command: LIMITS WORD...

Run by file name, so it needs nothing of this package. LIMITS is JSON, the name of each limit of
``resource`` without ``RLIMIT_`` and its number.
"""

import contextlib
import ctypes
import json
import os
import resource
import signal
import sys

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def main() -> None:
    """Become the command; 126 and 127 as shells say what cannot be run."""
    limits, *words = sys.argv[1:]
    for name, number in json.loads(limits).items():
        which = getattr(resource, f"RLIMIT_{name}", None)
        if which is None:  # this system has no such limit
            continue
        hard = resource.getrlimit(which)[1]
        most = number if hard == resource.RLIM_INFINITY else min(number, hard)
        resource.setrlimit(which, (most, most))
    with contextlib.suppress(OSError, AttributeError):  # Linux: it ends with who has started it
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    try:
        os.execvp(words[0], words)  # noqa: S606 - what is run was asked for
    except OSError as error:
        sys.stderr.write(f"{words[0]}: {error.strerror}\n")
        sys.stderr.flush()
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)


if __name__ == "__main__":
    main()
