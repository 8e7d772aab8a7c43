"""What a trajectory document of ATIF v1.6 has to be."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Count = Annotated[int, Field(ge=0)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Call(_Part):
    tool_call_id: Annotated[str, Field(min_length=1)]
    function_name: str
    arguments: dict[str, Any]


class Result(_Part):
    source_call_id: str
    content: str
    is_error: bool = False


class Observation(_Part):
    results: list[Result]


class Metrics(_Part):
    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    extra: dict[str, Any]


class Step(_Part):
    step_id: Annotated[int, Field(ge=1)]
    timestamp: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$")]
    source: Literal["system", "user", "agent"]
    message: str
    model_name: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[Call] = []
    observation: Observation | None = None
    metrics: Metrics | None = None
    extra: dict[str, Any] = {}

    @model_validator(mode="after")
    def _observations_belong_to_calls(self) -> "Step":
        seen = [
            result.source_call_id
            for result in (self.observation or Observation(results=[])).results
        ]
        if self.observation is not None:
            assert seen == [call.tool_call_id for call in self.tool_calls]
        if self.source != "agent":
            assert not self.tool_calls
            assert self.metrics is None
        return self


class Agent(_Part):
    name: str
    version: str
    model_name: str | None = None


class Totals(_Part):
    total_steps: Count
    total_prompt_tokens: Count | None = None
    total_completion_tokens: Count | None = None


class Document(_Part):
    schema_version: Literal["ATIF-v1.6"]
    session_id: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
    agent: Agent
    steps: Annotated[list[Step], Field(min_length=1)]
    final_metrics: Totals
    extra: dict[str, Any] = {}

    @model_validator(mode="after")
    def _steps_are_counted(self) -> "Document":
        assert [step.step_id for step in self.steps] == list(range(1, len(self.steps) + 1))
        assert self.final_metrics.total_steps == len(self.steps)
        for name in ("prompt_tokens", "completion_tokens"):
            known = [getattr(step.metrics, name) for step in self.steps if step.metrics]
            total = getattr(self.final_metrics, f"total_{name}")
            assert total == (None if None in known or not known else sum(known))
        return self
