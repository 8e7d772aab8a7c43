"""How our own servers are set: the adapter proxy's and those of ``nel serve``."""

import uvicorn
from starlette.types import ASGIApp


def settings(app: ASGIApp, *, grace: int) -> uvicorn.Config:
    """Those of a server whose log is ours and that says nothing of itself.

    Args:
        app: What answers.
        grace: Seconds for requests under way when it ends.
    """
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        timeout_graceful_shutdown=grace,
    )
