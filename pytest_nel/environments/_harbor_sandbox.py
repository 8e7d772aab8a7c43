"""The sandbox of a Harbor task: its image, where it is worked in, and with whose rights."""

from pytest_nel.core.errors import DataError
from pytest_nel.core.sandbox import Sandbox, SandboxSpec
from pytest_nel.datasets.harbor_task import Task


def agent_user(task: Task) -> str:
    """Whose rights the agent has."""
    return task.settings.agent_user or task.image_user


def made_of(task: Task) -> tuple[str, str | None]:
    """The name of its image, or the folder of which it is made."""
    image = task.settings.docker_image or task.recipe.image or ""
    return image, None if image else str(task.folder / "environment")


def refuse_unsure(task: Task) -> None:
    """Refuse a task of which only an image that is not here can tell where and as whom it is done.

    Raises:
        DataError: This is one.
    """
    if task.unsure is not None:
        msg = (
            f"task {task.name}: environment/Dockerfile: only its image can tell what "
            f"{task.unsure!r} means, and it is not here: name environment.workdir, agent.user and "
            "verifier.user in task.toml, or use a sandbox of type docker whose image is the task's"
        )
        raise DataError(msg)


def spec_of(task: Task) -> SandboxSpec:
    """The container in which it is done."""
    settings = task.settings
    image, folder = made_of(task)
    return SandboxSpec(
        image=image,
        workdir=task.workdir,
        env=dict(settings.env),
        entrypoint=settings.start_cmd,
        environment_dir=folder,
        user=agent_user(task),
        network="bridge" if settings.internet else "none",
    )


async def leave_solution(task: Task, sandbox: Sandbox, limit: float) -> bool:
    """Run its ``solution/solve.sh`` as an agent would; False: there is none.

    Args:
        task: The task.
        sandbox: One in which nobody has worked.
        limit: Seconds, unless the task gives more.

    Raises:
        SandboxError: The sandbox failed.
    """
    if task.solution is None:
        return False
    await sandbox.upload(task.solution, "/solution")
    seconds = max(limit, task.settings.agent_timeout or 0.0)
    words, env = ["/bin/bash", "/solution/solve.sh"], dict(task.settings.solution_env)
    await sandbox.exec(words, seconds, env=env)
    return True
