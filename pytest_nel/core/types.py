"""The nouns: what goes into an attempt, what comes out of it, what is kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from pytest_nel.core.sandbox import Sandbox, SandboxSpec

JsonObject: TypeAlias = dict[str, Any]  # Any: what a user's row or a server's reply may hold
Message: TypeAlias = dict[str, Any]  # an OpenAI chat message; content may be text or parts
Protocol: TypeAlias = Literal["chat_completions", "completions", "responses"]
Outcome: TypeAlias = Literal["correct", "wrong", "unparsed", "unscored"]


class AttemptKey(NamedTuple):
    """One problem asked once: the identity of an item, a record and a journal line."""

    benchmark: str
    problem_idx: int
    repeat: int


@dataclass(frozen=True, slots=True)
class SeedResult:
    """A problem as the solver sees it.

    Attributes:
        prompt: The rendered user prompt.
        expected_answer: The gold answer. Solvers must not read it.
        metadata: The row's other fields; ``category`` is used for breakdowns.
        messages: Chat messages to send; None means ``[system?, user prompt]``.
        system: The benchmark's own system prompt, used when the run sets none.
        images: Paths or URLs of images that belong to the prompt.
        sandbox_spec: The sandbox in which the problem is solved; None: it needs none. It starts
            when it is first used.
        verify_sandbox_spec: A fresh sandbox in which the answer is verified; None: where it was
            solved.
        pre_agent_cmd: A shell command run before the solver sees the sandbox; where it fails, the
            record says so.
        pre_agent_required: Whether there is no attempt where that fails: it is made again in a
            fresh sandbox, and at last unscored.
        capture_cmd: A shell command that leaves what was made in ``/output/workspace.tar`` of the
            sandbox it was solved in.
        apply_cmd: A shell command that takes ``/input/workspace.tar`` into a fresh one.
        attempt: Which attempt this is; set by the engine before the solver is called.
    """

    prompt: str
    expected_answer: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    messages: Sequence[Message] | None = None
    system: str | None = None
    images: Sequence[str] | None = None
    attempt: AttemptKey | None = None
    sandbox_spec: SandboxSpec | None = None
    verify_sandbox_spec: SandboxSpec | None = None
    pre_agent_cmd: str | None = None
    pre_agent_required: bool = False
    capture_cmd: str | None = None
    apply_cmd: str | None = None


@dataclass(frozen=True, slots=True)
class ModelResponse:
    """One reply of a model endpoint.

    Attributes:
        content: The answer text, reasoning included where the server did not separate it.
        model: The model name the server reports.
        finish_reason: The server's reason; ``length`` means truncated.
        prompt_tokens: None when the server reports no usage (unknown is not 0).
        completion_tokens: As above; includes reasoning tokens.
        total_tokens: As above.
        reasoning_tokens: As above.
        latency_ms: From sending the successful request to its last byte, in milliseconds;
            without queueing and backoff.
        reasoning_content: Reasoning that the server delivered apart from the answer.
        refusal: The refusal text, where the protocol has such a field.
        tool_calls: Tool calls as the server sent them.
        requests: How many HTTP requests were made for this reply.
        calls: How many of them were no retries: the turns of an agent, else 1.
        sampling: The generation parameters as sent.
        logprobs: Log-probabilities of the answer's tokens as the server sent them, where they
            were asked for.
        raw_response: The decoded body; dropped before recording.
    """

    content: str
    model: str = ""
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    reasoning_tokens: int | None = None
    latency_ms: float = 0.0
    reasoning_content: str | None = None
    refusal: str | None = None
    tool_calls: Sequence[JsonObject] = ()
    requests: int = 1
    calls: int = 1
    sampling: Mapping[str, Any] = field(default_factory=dict)
    logprobs: JsonObject | None = None
    raw_response: JsonObject | None = None


CUT = "cut_by_timeout"
"""Of ``scoring_details``: the benchmark's ``timeout`` has ended it; with more it had gone on."""
WORKED = "[worked in the sandbox]"
"""The answer where the sandbox is what is judged and the model said nothing: a blank answer would
never be."""


@dataclass(frozen=True, slots=True)
class SolveResult:
    """What a solver returns for one attempt.

    Attributes:
        response: The final answer text that is scored.
        model_response: The last model call, when there was one.
        trajectory: Steps of an agent, free-form JSON objects.
        reward: Set only by solvers that grade themselves; verification is then skipped.
        scoring_details: Goes into the record beside the verifier's own.
        no_model: No model was asked: its tokens are 0. Without it, and without a
            ``model_response``, they are unknown.
    """

    response: str
    model_response: ModelResponse | None = None
    trajectory: Sequence[JsonObject] = ()
    reward: float | None = None
    scoring_details: Mapping[str, Any] = field(default_factory=dict)
    no_model: bool = False


@dataclass(frozen=True, slots=True)
class VerifyResult:
    """The judgement of one answer.

    Attributes:
        reward: In [0, 1].
        extracted_answer: What the scorer took as the answer; None means that it found none.
        scoring_details: JSON-like facts about the judgement; ``method`` names the scorer.
        metadata: Merged into the record's metadata.
        parsed: False when no answer was found in the response. Such an attempt has reward 0
            and is counted as *unparsed*, apart from *wrong*.
    """

    reward: float
    extracted_answer: str | None = None
    scoring_details: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    parsed: bool = True


@dataclass(frozen=True, slots=True)
class ScorerInput:
    """What a scorer judges.

    Attributes:
        response: The answer text, reasoning already stripped.
        target: The gold answer.
        metadata: The row's fields.
        config: The benchmark's ``extra``.
        sandbox: A running sandbox where the benchmark asks for one.
    """

    response: str
    target: Any
    metadata: Mapping[str, Any] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    sandbox: Sandbox | None = None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A running model endpoint, ready to be asked.

    Attributes:
        name: The service's name in the suite.
        url: The full request URL, path included.
        protocol: The wire format behind the URL.
        model: The model name to send.
        api_key: Bearer token or None; never printed, never written.
        generation: Service-level sampling parameters, already without nulls.
        max_concurrent: Requests in flight at most; None leaves it to the benchmarks (C).
        connect_timeout: Seconds to open a connection.
        read_timeout: Seconds without a byte; None means the total limit alone.
        timeout: Total seconds for one request.
        max_retries: Further requests after the first for what a retry may cure.
        weights: Digest of the model that is served, where the service has its file.
        stream: Whether replies are streamed and put together again: for gateways that end a
            connection on which nothing comes for a while. It changes no answer.
        replicas: The request URLs of servers that answer alike, ``url`` the first; empty for one.
        reasoning_pattern: Regular expression of what is taken out of replies.
        max_input_tokens: Of a prompt, where it is known.
        max_output_tokens: Of an answer, where it is known.
        tokenizer: Name or path of the model's tokenizer, where it is known.
        kind: ``model``, or ``resource`` for a server that completes nothing.
    """

    name: str
    url: str
    protocol: Protocol
    model: str
    api_key: str | None = field(default=None, repr=False)
    generation: Mapping[str, Any] = field(default_factory=dict)
    max_concurrent: int | None = None
    connect_timeout: float = 10.0
    read_timeout: float | None = None
    timeout: float = 600.0
    max_retries: int = 5
    weights: str | None = None
    stream: bool = False
    replicas: tuple[str, ...] = ()
    reasoning_pattern: str | None = None
    max_input_tokens: int | None = None
    max_output_tokens: int | None = None
    tokenizer: str | None = None
    kind: Literal["model", "resource"] = "model"
