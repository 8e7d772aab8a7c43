"""The process behind ``llama_cpp``: llama.cpp's own OpenAI server out of the xllamacpp wheel.

Run by file name, so it needs nothing of this package. It writes one line to ``--announce``, its
base URL, and serves until its standard input ends: whoever started it holds the other end, so
the server never outlives that process, not even after ``kill -9``.
"""

import argparse
import ctypes
import os
import signal
import sys
from pathlib import Path
from typing import Any

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def main() -> None:
    """Serve one model until standard input ends."""
    options = _options()
    if options.parent:
        _die_with(options.parent)
    server = _serve(options)
    with os.fdopen(options.announce, "w", encoding="ascii") as announce:
        announce.write(f"{server.listening_address}\n")
    sys.stdin.buffer.read()
    os._exit(0)  # the server's own shutdown waits for requests that nobody will read


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--alias", required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--parallel", type=int, required=True)
    parser.add_argument("--context", type=int, required=True, help="Tokens per slot")
    parser.add_argument("--announce", type=int, required=True, help="Descriptor for the base URL")
    parser.add_argument("--parent", type=int, default=0, help="Process to die with; 0: none")
    return parser.parse_args()


def _die_with(parent: int) -> None:
    """Ask Linux for a SIGKILL when the parent ends: loading a model does not watch its input."""
    if not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it ended before the request above
        os._exit(0)


def _serve(options: argparse.Namespace) -> Any:  # Any: the wheel has no types
    import xllamacpp  # noqa: PLC0415  # an extra, absent where no model is served

    params = xllamacpp.CommonParams()
    params.model.path = str(options.model)
    params.model_alias = {options.alias}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_parallel = options.parallel
    params.n_ctx = options.context * options.parallel
    params.cpuparams.n_threads = options.threads
    params.cpuparams_batch.n_threads = options.threads
    params.use_jinja = True  # the model's own chat template
    return xllamacpp.Server(params)


if __name__ == "__main__":
    main()
