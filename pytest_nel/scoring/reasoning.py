"""The one place where reasoning is separated from the answer."""

import re

_TAG = re.compile(
    r"<(?P<close>/?)\s{0,8}(?:think|thinking|reasoning)(?=[\s>])[^<>]{0,200}(?<!/)>", re.IGNORECASE
)
_FENCE = re.compile(r"^ {0,3}(?P<mark>`{3,8}|~{3,8})[^\n]*$", re.MULTILINE)


def split_reasoning(content: str, reasoning_content: str | None = None) -> tuple[str, str | None]:
    """Separate ``<think>…</think>`` blocks (also thinking, reasoning) from the answer.

    * Several and nested blocks are all reasoning. Two openers with only white space between them
      are one (a template wrote the first, the model the second).
    * An opener that is never closed means that the reply was cut off: the answer is ``""``
      and all the text counts as reasoning.
    * A closer without opener (it was in the prompt): everything before it is reasoning.
    * Tags between backticks, and tags in a fenced code block outside reasoning, are text. (The
      exception is a fence with a closer too many before any block was closed: there the text up
      to the closer is reasoning, which had its opener in the prompt.)
    * Content without tags is returned untouched; otherwise the answer is stripped.

    Args:
        content: The reply's text.
        reasoning_content: What the server had already separated; it comes first.

    Returns:
        The answer, and the reasoning or None when there is none.
    """
    tags = _tags(content)
    if not tags:
        return content, reasoning_content or None
    answer, thought = _walk(content, tags)
    parts = [reasoning_content or "", *thought]
    reasoning = "\n\n".join(part.strip() for part in parts if part.strip())
    return answer.strip(), reasoning or None


def _walk(content: str, tags: list[re.Match[str]]) -> tuple[str, list[str]]:
    answer: list[str] = []
    thought: list[str] = []
    depth = position = opened = 0
    for tag in tags:
        between = content[position : tag.start()]
        if tag["close"]:
            if depth <= 0:  # no opener: all that looked like the answer was reasoning
                thought += [*answer, between]
                answer.clear()
            else:
                thought.append(between)
            depth = max(0, depth - 1)
        elif depth == 0:
            answer.append(between)
            depth, opened = 1, tag.end()
        elif depth == 1 and tag.start() >= opened and not content[opened : tag.start()].strip():
            opened = tag.end()
        else:
            thought.append(between)
            depth += 1
        position = tag.end()
    if depth > 0:
        return "", [*answer, *thought, content[position:]]
    return "".join([*answer, content[position:]]), thought


def _tags(content: str) -> list[re.Match[str]]:
    """The tags that count: not quoted in backticks, not in code of the answer."""
    found = [
        tag
        for tag in _TAG.finditer(content)
        if not (content[tag.start() - 1 : tag.start()] == "`" == content[tag.end() : tag.end() + 1])
    ]
    if not found or ("```" not in content and "~~~" not in content):
        return found
    return _outside_code(content, found)


def _outside_code(content: str, tags: list[re.Match[str]]) -> list[re.Match[str]]:
    events = sorted([*tags, *_FENCE.finditer(content)], key=lambda event: event.start())
    kept: list[re.Match[str]] = []
    depth = position = 0
    answering = False  # a block was closed: what follows is the answer
    while position < len(events):
        event = events[position]
        position += 1
        if event.re is _FENCE:
            end = _code_end(events, position) if depth == 0 else position
            if answering or not _stray_closer(events[position:end]):
                position = end
            continue
        depth = max(0, depth - 1) if event["close"] else depth + 1
        answering = answering or bool(event["close"])
        kept.append(event)
    return kept


def _code_end(events: list[re.Match[str]], position: int) -> int:
    """Where the code goes on whose fence stands before ``position``: behind its closing fence.

    An unclosed fence protects nothing: the position itself is returned.
    """
    mark = events[position - 1]["mark"]
    for index in range(position, len(events)):
        event = events[index]
        if event.re is _FENCE and event["mark"].startswith(mark):
            return index + 1
    return position


def _stray_closer(events: list[re.Match[str]]) -> bool:
    depth = 0
    for event in events:
        if event.re is _TAG:
            depth += -1 if event["close"] else 1
        if depth < 0:
            return True
    return False
