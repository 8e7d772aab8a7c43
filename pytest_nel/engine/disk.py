"""Whether a sandbox has room: what fails for want of disk says nothing of who worked there."""

from pytest_nel.core.sandbox import Sandbox

_SPARE = 1 << 30
_TIMES = 4
"""How often a workspace may be there at once while it is unpacked, and one more."""
_LEAST = 512  # bytes that a file takes in a tar
_IN_MEMORY = {"tmpfs", "ramfs", "shm"}


async def has_room(sandbox: Sandbox, size: int, *, own_limit: bool) -> bool:
    """Whether a workspace can be unpacked without coming near the end of this machine's disk.

    A limit of the sandbox's own is the same for whoever worked in one: it is no want of room.

    Args:
        sandbox: A fresh one, in which nothing is that anybody else has made.
        size: Bytes of the workspace, packed.
        own_limit: Whether what a sandbox may write to the disk is limited.

    Returns:
        False also where it cannot be told, as without ``df``.

    Raises:
        SandboxError: The sandbox failed.
    """
    if own_limit:
        return True
    blocks = await _free(sandbox, "-Pk")
    files = await _free(sandbox, "-Pi")
    if blocks is None or files is None:
        return False
    enough = all(free * 1024 >= size * _TIMES + _SPARE for _, free in blocks)
    return enough and all(total == 0 or free * _LEAST >= size for total, free in files)


async def _free(sandbox: Sandbox, how: str) -> list[tuple[int, int]] | None:
    """(all, free) of each place on a disk where a workspace may go; None where nobody says."""
    ran = await sandbox.exec(f"df {how} . /tmp /")
    rows = [line.split() for line in ran.stdout.splitlines()[1:]]
    if ran.return_code != 0 or not rows:
        return None
    on_disk = [row for row in rows if row[0] not in _IN_MEMORY]
    try:
        return [(int(row[1]), int(row[3])) for row in on_disk]
    except (IndexError, ValueError):
        return None
