"""What a client has done so far."""

from dataclasses import dataclass


@dataclass(slots=True)
class ClientStats:
    """Counters of one client; other threads may read them at any time.

    Attributes:
        requests: HTTP requests sent.
        retries: Those of them that repeated another.
        in_flight: Requests under way now.
        waiting_retry: Calls that wait before asking again.
        last_retry_reason: Why the last of them has to.
        prompt_tokens: Sum over replies that reported it.
        completion_tokens: As above.
    """

    requests: int = 0
    retries: int = 0
    in_flight: int = 0
    waiting_retry: int = 0
    last_retry_reason: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
