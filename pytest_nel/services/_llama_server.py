"""The process behind ``llama_cpp``: llama.cpp's own OpenAI server out of the xllamacpp wheel.

Run by file name, so it needs nothing of this package. It serves until a signal ends it: its
supervisor sees to that.
"""

import argparse
import threading
from pathlib import Path
from typing import Any


def main() -> None:
    """Serve one model until a signal ends it."""
    server = _serve(_options())
    threading.Event().wait()
    del server  # it lives as long as somebody holds it


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--alias", required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--parallel", type=int, required=True)
    parser.add_argument("--context", type=int, required=True, help="Tokens per slot")
    parser.add_argument("--port", type=int, required=True)
    return parser.parse_args()


def _serve(options: argparse.Namespace) -> Any:  # Any: the wheel has no types
    import xllamacpp  # noqa: PLC0415  # an extra, absent where no model is served

    params = xllamacpp.CommonParams()
    params.model.path = str(options.model)
    params.model_alias = {options.alias}
    params.hostnames = ["127.0.0.1"]
    params.port = options.port
    params.n_parallel = options.parallel
    params.n_ctx = options.context * options.parallel
    params.cpuparams.n_threads = options.threads
    params.cpuparams_batch.n_threads = options.threads
    params.use_jinja = True  # the model's own chat template
    return xllamacpp.Server(params)


if __name__ == "__main__":
    main()
