"""What requests and replies of a served benchmark look like; also what ``/openapi.json`` says."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr

Json = dict[str, Any]


class _Body(BaseModel):
    """A request; what it holds beside these fields is another client's business."""

    model_config = ConfigDict(extra="allow")


class SeedSessionRequest(_Body):
    """Which problem."""

    idx: Annotated[StrictInt, Field(description="Position of the problem, from 0.")] = 0


class VerifyRequest(_Body):
    """An answer, in the form of the evaluator's protocol: a body with the key `expected`."""

    response: Annotated[StrictStr, Field(description="The answer text, reasoning taken out.")]
    expected: Annotated[StrictStr, Field(description="`expected_answer` of the problem.")]
    metadata: Annotated[Json, Field(description="`metadata` of the problem, sent back.")] = Field(
        default_factory=dict
    )


class GymVerifyRequest(_Body):
    """An answer, in the form of NeMo Gym: a body without the key `expected`."""

    response: Annotated[
        Any,
        Field(
            description="Text, a Responses-API object, or a chat completion. Reasoning between "
            "<think> tags is taken out."
        ),
    ]
    expected_answer: Annotated[
        StrictStr | None,
        Field(description="Of the problem; null takes it by `metadata.problem_idx`."),
    ] = None
    metadata: Annotated[Json, Field(description="`metadata` of the problem, sent back.")] = Field(
        default_factory=dict
    )
    verifier_metadata: Annotated[
        Json | None, Field(description="Stands before what `metadata` says.")
    ] = None
    responses_create_params: Annotated[Json | None, Field(description="Comes back.")] = None


class Health(BaseModel):
    """That the server is ready, and for what."""

    status: str
    benchmark: str
    dataset_size: int
    protocol: Annotated[str, Field(description="`evaluator`, or `gym` with --gym-compat.")]
    pass_at: Annotated[float, Field(description="The reward from which an answer is correct.")]
    min_score: Annotated[
        float | None, Field(description="The score that a run must reach, as the benchmark says.")
    ] = None
    endpoint_type: Annotated[
        str, Field(description="`chat`, or `completions` where it is written for base models.")
    ] = "chat"
    fingerprint: Annotated[Json, Field(description="What identifies the data.")]
    judging: Annotated[str, Field(description="Digest of all that determines verdicts.")]
    note: Annotated[
        str | None, Field(description="Where the data are not the whole set: that they are not.")
    ] = None


class DatasetSize(BaseModel):
    """How many problems there are."""

    size: int


class SeedSessionReply(BaseModel):
    """A problem. The gold answer is part of it: keep it from the model."""

    prompt: str
    expected_answer: str
    metadata: Json
    messages: list[Json] | None
    system: str | None
    sandbox_spec: Json | None
    images: list[str] | None = None


class VerifyReply(BaseModel):
    """A verdict, to a request of the evaluator's form."""

    reward: float
    extracted_answer: str | None
    scoring_details: Json
    metadata: Json
    parsed: Annotated[bool, Field(description="False when no answer was found in the response.")]


class GymVerifyReply(BaseModel):
    """A verdict, to a request of the form of NeMo Gym."""

    reward: float
    expected_answer: str
    extracted_answer: str | None
    scoring_details: Json
    parsed: Annotated[bool, Field(description="False when no answer was found in the response.")]
    responses_create_params: Json | None = None
    response: Any = None


class Problem(BaseModel):
    """Why there is no reply; with `failure`, the answer was not judged and has no reward."""

    detail: str
    failure: Annotated[str | None, Field(description="The category of a failure.")] = None


MODELS = (
    *(SeedSessionRequest, VerifyRequest, GymVerifyRequest),
    *(Health, DatasetSize, SeedSessionReply, VerifyReply, GymVerifyReply, Problem),
)


def text_of(response: object) -> str | None:
    """The answer text of a gym form's ``response``; None where it is nothing that has one.

    Of a Responses-API object that are the texts of the assistant's messages, joined by line
    breaks; of a chat completion the first choice. A message that says no role is the
    assistant's, who has written the output; an ``output`` that holds what is no object has none.
    """
    if isinstance(response, str):
        return response
    if not isinstance(response, Mapping):
        return None
    if isinstance(output := response.get("output"), list):
        whole = all(isinstance(item, Mapping) for item in output)
        return "\n".join(_said(output)) if whole else None
    choices = response.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
        message = choices[0].get("message")
        return _content(message.get("content")) if isinstance(message, Mapping) else None
    text = response.get("output_text")
    return text if isinstance(text, str) else None


def _said(output: Sequence[Mapping[str, Any]]) -> list[str]:
    messages = [
        item
        for item in output
        if item.get("type", "message") == "message" and item.get("role", "assistant") == "assistant"
    ]
    return [text for item in messages if (text := _content(item.get("content")))]


def _content(content: object) -> str:
    """A message's text: as it is, or that of its parts; a refusal, or none, is no text."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, Mapping)]
    return "\n".join(text for text in texts if isinstance(text, str))
