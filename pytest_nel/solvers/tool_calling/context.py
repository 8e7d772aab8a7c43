"""The conversation as the model is sent it: the oldest turns go when it grows too long.

A turn is an assistant's message with the messages that answer its calls. It goes as a whole, so
no answer to a call is ever left without the call, and no call without its answer.
"""

import json
import re
from collections.abc import Mapping, Sequence

from pytest_nel.core.types import JsonObject, Message

_CHARS_PER_TOKEN = 4.0
"""Where nothing better is known: English text has about that many."""
_DOWN_TO = 0.75
"""How much of the budget is left when turns were dropped, so that it is not done every turn."""
_LESS = 0.8
"""What to try when the model says that a request is too long, and not how long it may be."""
_MAXIMUM = re.compile(
    r"(?:maximum (?:context )?length|context (?:length|window|size)|max(?:imum)?_model_len)"
    r"[^\d\n]{0,40}?(\d[\d,]{2,11})",
    re.IGNORECASE,
)


def limit_in(message: str) -> int | None:
    """The tokens that a model can take, if an error message says so."""
    found = _MAXIMUM.search(message)
    return int(found[1].replace(",", "")) if found else None


class Conversation:
    """The messages of one attempt.

    Args:
        head: What it begins with, which is never dropped.
        budget: Tokens of a prompt at most; None does not limit it.
        fixed: Characters of what every request says beside the messages, such as its tools.
    """

    def __init__(self, head: Sequence[Message], budget: int | None, fixed: int = 0) -> None:
        self._head = list(head)
        self._turns: list[list[Message]] = []
        self._fixed = fixed
        self._per_token = _CHARS_PER_TOKEN
        self._sent = 0
        self.budget = budget
        self.dropped = 0

    @property
    def messages(self) -> list[Message]:
        """All that is left, in order, and how many messages are not."""
        head = self._head
        if self.dropped:
            head = noted(head, f"[{self.dropped} earlier messages omitted]")
        return [*head, *(message for turn in self._turns for message in turn)]

    def add(self, turn: Sequence[Message]) -> None:
        """A turn, whole."""
        self._turns.append(list(turn))

    def fit(self) -> None:
        """Drop the oldest turns if it is over its budget; the last one stays."""
        if self.budget is not None and self.tokens() > self.budget:
            self._shrink(self.budget * _DOWN_TO)
        self._sent = self._characters()

    def learn(self, prompt_tokens: int | None) -> None:
        """What was sent last had so many tokens, as the model counts them."""
        if prompt_tokens and self._sent:
            self._per_token = max(0.1, self._sent / prompt_tokens)

    def refused(self, message: str, answer: int) -> bool:
        """The model has said that what was sent last is too long.

        Args:
            message: In these words.
            answer: Tokens that an answer may have, which share its window.

        Returns:
            Whether there was something to drop.
        """
        if len(self._turns) < 2:
            return False
        window = limit_in(message)
        sent = self.tokens()
        room = sent * _LESS if window is None else min(float(window - answer), sent * _LESS)
        self.budget = max(1, int(room))
        self._shrink(self.budget * _DOWN_TO if window is not None else room)
        return True

    def tokens(self) -> int:
        """About how many tokens a request with all that is left has."""
        return int(self._characters() / self._per_token) + 1

    def _characters(self) -> int:
        return self._fixed + sum(_size(message) for message in self.messages)

    def _shrink(self, wanted: float) -> None:
        while len(self._turns) > 1:
            self.dropped += len(self._turns.pop(0))
            if self.tokens() <= wanted:
                return


def _size(message: Message) -> int:
    """Characters that count, those of calls as well."""
    content = message.get("content")
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    calls = message.get("tool_calls")
    return len(text) + (len(json.dumps(calls, ensure_ascii=False)) if calls else 0)


def noted(head: Sequence[Message], note: str) -> list[Message]:
    """The messages with a note at the end of the last.

    One more message would break templates that want user and assistant in turn.
    """
    if not head:
        return [{"role": "user", "content": note}]
    last: JsonObject = dict(head[-1])
    content = last.get("content")
    if isinstance(content, list):
        last["content"] = [*content, {"type": "text", "text": note}]
    else:
        last["content"] = f"{content}\n\n{note}" if content else note
    return [*head[:-1], last]


def answer_room(sampling: Mapping[str, object]) -> int:
    """The tokens that an answer may have by the parameters of a request; 0 where none says."""
    for name in ("max_completion_tokens", "max_tokens", "max_output_tokens"):
        value = sampling.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return 0
