"""How long an agent may work: what the suite says, what the task says, and what there is."""

from typing import Literal, TypeAlias

Strategy: TypeAlias = Literal["override", "task", "max"]
_LEAST_SPARE, _MOST_SPARE, _SHARE = 1.0, 60.0, 0.05


def agent_seconds(
    strategy: Strategy,
    own: float | None,
    task: float | None,
    cap: float | None,
    attempt: float,
    left: float | None = None,
) -> float:
    """Seconds for an agent.

    What is left of the attempt's time is kept for taking out what the agent has made: at the end
    of all of it nothing could be judged any more.

    Args:
        strategy: ``override`` takes the suite's, ``task`` the task's where it says one, ``max``
            the greater.
        own: The suite's ``run_timeout``; None: all of the attempt's.
        task: The task's.
        cap: The most, in any case.
        attempt: ``timeout`` of the benchmark.
        left: What is left of that, as where a sandbox has taken its time to start; None: all.
    """
    spare = min(_MOST_SPARE, max(_LEAST_SPARE, attempt * _SHARE))
    room = (attempt if left is None else min(attempt, left)) - spare
    suite = own if own is not None else room
    chosen = {"override": suite, "task": task or suite, "max": max(suite, task or 0.0)}[strategy]
    return max(1.0, min(chosen, room, cap if cap is not None else chosen))
