"""Installs an agent in the problem's sandbox and runs it there; the model answers it by a proxy."""

import asyncio
import contextlib
import math
import re
from collections.abc import Awaitable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from pytest_nel.config.env_map import EnvMap, resolve
from pytest_nel.config.schema import Model
from pytest_nel.core.errors import ConfigError, InfraError
from pytest_nel.core.exchange import Usage, current_session, keep_progress, put_off, seconds_left
from pytest_nel.core.protocols import EvalEnvironment
from pytest_nel.core.sandbox import TIMED_OUT, ExecResult, Sandbox
from pytest_nel.core.types import CUT, JsonObject, ModelResponse, SeedResult, SolveResult
from pytest_nel.datasets.harbor_task import digest_of
from pytest_nel.solvers._agent_folder import read_agent
from pytest_nel.solvers._agent_model import unanswered, undecided
from pytest_nel.solvers._atif import two_steps
from pytest_nel.solvers._times import Strategy, agent_seconds
from pytest_nel.solvers.around import Around

PLACE = "/installed-agent"
_INSTRUCTION = f"{PLACE}/instruction.md"
_INSTALL_TIMEOUT = 900.0
_LEAST = 0.05  # of the benchmark's time, for an agent to begin at all
_KEPT, _KEPT_ERRORS = 50_000, 4_000  # characters
_CUT_OFF = ExecResult(return_code=TIMED_OUT, timed_out=True)
_LOOPBACK = "127.0.0.1"
_NO_KEY = "not-needed"
_TASK_TIME = "agent_timeout_sec"
_BUILT_IN = re.compile(
    r"oracle|nop|terminus(-[0-9]+)?|claude-code|openhands(-sdk)?|codex|aider|goose|gemini-cli"
    r"|(mini-)?swe-agent|opencode|cursor-cli|cline-cli|qwen-coder|copilot-cli|[\w.]+:\w+"
)


class AgentOptions(Model):
    """Options of solvers that run an agent in a sandbox.

    Attributes:
        service: The model that the agent asks.
        agent: The agent's folder, relative to where the run is started.
        agent_kwargs: Values for the agent's templates.
        container_env: Variables of the agent, each ``host:VAR``, ``runtime:VAR`` or ``lit:text``.
        run_timeout: Seconds for the agent; null: as its agent.toml says, else what there is.
        timeout_strategy: ``override``, ``task`` (the task's own time where it has one) or ``max``
            (the greater).
        max_agent_timeout: The most, in any case.
    """

    not_here: ClassVar[Mapping[str, str]] = {
        "cmd_timeout": "an agent is one command here: limit it by run_timeout",
        "skill": "what an agent is to know belongs into its folder: let its run.sh.j2 say it",
        "skill_dir": "what an agent is to know belongs into its folder: let its run.sh.j2 say it",
    }

    service: str
    agent: Annotated[str, Field(min_length=1)]
    agent_kwargs: dict[str, Any] = Field(default_factory=dict)
    container_env: EnvMap = Field(default_factory=dict)
    run_timeout: Annotated[float, Field(gt=0)] | None = None
    timeout_strategy: Strategy = "override"
    max_agent_timeout: Annotated[float, Field(gt=0)] | None = None

    @field_validator("agent")
    @classmethod
    def _a_folder(cls, agent: str) -> str:
        if _BUILT_IN.fullmatch(agent) and not Path(agent).is_dir():
            msg = (
                f"{agent!r} is an agent of the harbor package, and those are not supported: name a "
                "folder with a run.sh.j2 that runs it, or use solver type tool_calling"
            )
            raise ValueError(msg)
        return agent


class AgentSolver:
    """Runs the agent of a folder.

    Raises:
        ConfigError: The folder is none, or nothing in the sandbox would reach the model.
    """

    class Config(AgentOptions):
        """Options of ``solver: {type: agent}``.

        Attributes:
            framework: What the folder is written for; there is one.
        """

        framework: Literal["harbor"] = "harbor"

    version = 1
    """Raised when it works otherwise than before: stored answers are then not its own."""
    reads_row = True  # and only so much: changed tests judge anew, and nobody is asked again
    uses_sandbox = True
    through_proxy = True

    def __init__(self, around: Around, config: AgentOptions) -> None:
        _refuse_unreachable(around)
        self._around = around
        self._config = config
        self._folder = read_agent(Path(config.agent).expanduser())
        self._env: Mapping[str, str] = {}
        self._proxies: dict[str, Any] = {}  # Any: proxies are a neighbour of solvers
        self._turn = asyncio.Lock()
        self._rehearse()

    @staticmethod
    def row_fields(options: Mapping[str, Any]) -> tuple[str, ...]:
        """What it reads of a problem's metadata: with most strategies how long it may take."""
        strategy = options.get("timeout_strategy") or "override"
        return () if strategy == "override" else (_TASK_TIME,)

    @property
    def reads_fields(self) -> tuple[str, ...]:
        """The same with its own options."""
        return self.row_fields({"timeout_strategy": self._config.timeout_strategy})

    @staticmethod
    def identity(options: Mapping[str, Any]) -> Mapping[str, Any]:
        """The agent's folder by what is in it, wherever it lies."""
        return {"agent": digest_of(Path(str(options.get("agent"))).expanduser())}

    def refuse_environment(self, environment: EvalEnvironment) -> None:
        """Refuse tasks in whose sandboxes an agent would not reach its model.

        Raises:
            ConfigError: There are some.
        """
        says = getattr(environment, "without_network", None)
        alone: list[str] = [] if says is None else says()
        if alone:
            msg = (
                f"solver agent: {environment.name}: {', '.join(alone[:5])}: the task allows no "
                "network (allow_internet = false), and the agent asks its model from inside: use "
                "solver type tool_calling, or leave these tasks out (params: task_names)"
            )
            raise ConfigError(msg)

    async def open(self) -> None:
        """Read the agent's variables."""
        self._env = resolve(self._config.container_env, "solver.container_env")

    async def close(self) -> None:
        """Stop the proxies."""
        while self._proxies:
            _, proxy = self._proxies.popitem()
            await proxy.stop()

    async def solve(self, seed: SeedResult, sandbox: Sandbox) -> SolveResult:
        """Install the agent and run it; what it prints is the response.

        Raises:
            InfraError: It could not be installed, the model has no place that it reaches, or the
                agent failed for want of its model's answers.
            SandboxError: The sandbox failed.
        """
        proxy = await self._proxy(sandbox)
        with self._session(proxy, seed) as (url, usage):
            self._keep(usage, self._uninstalled(_CUT_OFF))
            inside = sandbox.resolve_outside_endpoint(url)
            env = self._variables(inside)
            await self._install(sandbox, self._values(seed, sandbox, inside), env)
            self._refuse_without_time()
            self._keep(usage)
            await sandbox.write(_INSTRUCTION, seed.prompt.encode())
            values = self._values(seed, sandbox, inside)  # of the time that is left now
            script = self._folder.script(self._folder.run, values)
            await sandbox.write(f"{PLACE}/run.sh", script, mode=0o755)
            words = ["/bin/sh", "-c", f"exec {_shell(script)} {PLACE}/run.sh"]
            ran = await self._ran(sandbox.exec(words, values["timeout"], env=env), proxy, url)
        cut = ran.timed_out and values["timeout"] < self._seconds(seed, math.inf)
        result = self._result(seed, ran, usage, cut=cut)
        if cut:
            return replace(result, scoring_details={**result.scoring_details, CUT: True})
        return result

    async def _ran(self, running: Awaitable[ExecResult], proxy: Any, url: str) -> ExecResult:
        """What comes of the agent, and who failed the requests that it has left unanswered."""
        try:
            ran = await running
        except asyncio.CancelledError:
            session = current_session()
            limit = None if session is None else session.limit
            if limit is not None and limit.expired():  # else nobody wants to know
                await self._settled(_CUT_OFF, proxy, url)
            raise
        await self._settled(ran, proxy, url)
        return ran

    async def _settled(self, ran: ExecResult, proxy: Any, url: str) -> None:
        """Let the last requests come to their outcome; that is no time of the agent's.

        It may have hung up because it is impatient, or because nobody would ever have answered.
        """
        session = current_session()
        if undecided(ran, proxy.usage(url)):
            with put_off(None if session is None else session.limit):
                await proxy.settled(url)

    def _refuse_without_time(self) -> None:
        """Of an agent that can do nothing any more nobody learns what its model can do."""
        left, limit = seconds_left(), self._around.timeout
        if left is not None and left < limit * _LEAST:
            msg = (
                f"agent {self._folder.name}: when it could begin, {max(left, 0.0):.1f} s were left "
                f"of the benchmark's timeout of {limit:g} s: raise `timeout`"
            )
            raise InfraError(msg, retryable=False)

    def _keep(self, usage: Usage, error: InfraError | None = None) -> None:
        """What there is, should the attempt's time be up, and whether that is to be judged."""
        keep_progress(
            lambda: SolveResult("", _reply("", usage, self._around.model or "")),
            lambda: error or unanswered(self._folder, _CUT_OFF, usage),
        )

    async def _install(
        self, sandbox: Sandbox, values: Mapping[str, Any], env: Mapping[str, str]
    ) -> None:
        if self._folder.install is None:
            return
        script = self._folder.script(self._folder.install, values)
        await sandbox.write(f"{PLACE}/install.sh", script, mode=0o755)
        words = ["/bin/sh", "-c", f"exec {_shell(script)} {PLACE}/install.sh"]
        more = {"DEBIAN_FRONTEND": "noninteractive", **env}
        ran = await sandbox.exec(words, _INSTALL_TIMEOUT, env=more)
        if ran.return_code != 0:
            raise self._uninstalled(ran)

    def _uninstalled(self, ran: ExecResult) -> InfraError:
        ended = "its time was up" if ran.timed_out else f"exit {ran.return_code}"
        said = (ran.stderr or ran.stdout).strip()[-500:] or "it said nothing"
        msg = f"agent {self._folder.name} could not be installed ({ended}): {said}"
        return InfraError(msg)

    def _result(self, seed: SeedResult, ran: ExecResult, usage: Usage, *, cut: bool) -> SolveResult:
        if (error := unanswered(self._folder, ran, usage)) is not None:
            error.retryable = error.retryable and not cut  # there is no time for another try
            raise error
        said = ran.stdout.strip()[-_KEPT:]
        details: JsonObject = {"agent_exit_code": ran.return_code, "agent_requests": usage.requests}
        if ran.stderr.strip():
            details["agent_stderr"] = ran.stderr.strip()[-_KEPT_ERRORS:]
        if ran.timed_out:
            details |= {"timed_out": True, "error_category": "solve_timeout"}
        model = self._around.model
        return SolveResult(
            response=said,
            model_response=_reply(said, usage, model or ""),
            trajectory=two_steps(self._folder.name, seed.prompt, said, model=model),
            scoring_details=details,
            no_model=usage.requests == 0,
        )

    def _values(self, seed: SeedResult, sandbox: Sandbox, url: str) -> dict[str, Any]:
        seconds = self._seconds(seed, self._around.timeout)
        return self._filled(seed.prompt, sandbox.workdir, url, seconds)

    def _seconds(self, seed: SeedResult, attempt: float) -> float:
        """What the agent may take of an attempt's time; infinite: of one without end."""
        config = self._config
        return agent_seconds(
            config.timeout_strategy,
            config.run_timeout or self._folder.timeout,
            seed.metadata.get(_TASK_TIME),
            config.max_agent_timeout,
            attempt,
            None if math.isinf(attempt) else seconds_left(),
        )

    def _filled(self, prompt: str, workdir: str, url: str, seconds: float) -> dict[str, Any]:
        ours = {
            "instruction": prompt,
            "instruction_path": _INSTRUCTION,
            "model": self._around.model,
            "base_url": url,
            "api_key": _NO_KEY,
            "workdir": workdir,
            "timeout": seconds,
        }
        return {**self._config.agent_kwargs, **ours}

    def _rehearse(self) -> None:
        """Fill in the scripts once, so that what is wrong with them shows before the run."""
        values = self._filled("Do it.", "/", f"http://{_LOOPBACK}/v1", 1.0)
        for template in (self._folder.install, self._folder.run):
            if template is not None:
                self._folder.script(template, values)

    def _variables(self, url: str) -> dict[str, str]:
        model = self._around.model or ""
        ours = {"LLM_BASE_URL": url, "LLM_API_KEY": _NO_KEY, "LLM_MODEL": model}
        same = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": _NO_KEY, "OPENAI_API_BASE": url}
        return {**ours, **same, **self._folder.env, **self._env}

    @contextlib.contextmanager
    def _session(self, proxy: Any, seed: SeedResult) -> Iterator[tuple[str, Usage]]:
        """The model's URL for one attempt alone, and what is asked there."""
        url = proxy.url_for(seed.attempt or "agent", keeps=True)
        try:
            yield url, proxy.usage(url)
        finally:
            proxy.end(url)

    async def _proxy(self, sandbox: Sandbox) -> Any:
        """A proxy that listens where the sandbox looks for this machine."""
        seen = urlsplit(sandbox.resolve_outside_endpoint(f"http://{_LOOPBACK}/")).hostname or ""
        host = _LOOPBACK if seen in {_LOOPBACK, "localhost"} else await _address(sandbox, seen)
        async with self._turn:
            if host not in self._proxies:
                self._proxies[host] = await self._started(host)
            return self._proxies[host]

    async def _started(self, host: str) -> Any:
        make = self._around.adapter
        assert make is not None
        proxy = make(host=host)
        try:
            await proxy.start()
        except ConfigError as error:
            if host == _LOOPBACK:
                raise InfraError(str(error), retryable=False) from error
            # A daemon in a virtual machine hands on what is sent there to this machine's loopback.
            return await self._started(_LOOPBACK)
        return proxy


async def _address(sandbox: Sandbox, name: str) -> str:
    ran = await sandbox.exec("cat /etc/hosts")
    for line in ran.stdout.splitlines():
        address, *names = line.partition("#")[0].split() or [""]
        if name in names and ":" not in address:
            return address
    return _LOOPBACK


def _reply(said: str, usage: Usage, model: str) -> ModelResponse | None:
    if usage.requests == 0:
        return None
    known = usage.unknown == 0
    return ModelResponse(
        content=said,
        model=model,
        prompt_tokens=usage.prompt if known else None,
        completion_tokens=usage.completion if known else None,
        total_tokens=usage.prompt + usage.completion if known else None,
        requests=usage.requests,
        calls=usage.requests,
    )


def _shell(script: bytes) -> str:
    """What a script asks for in its first line; else sh."""
    first = script.split(b"\n", 1)[0].decode("utf-8", "replace")
    return "bash" if first.startswith("#!") and "bash" in first else "sh"


def _refuse_unreachable(around: Around) -> None:
    kind, options = around.sandbox.type, around.sandbox.options
    if kind == "none":
        msg = "solver agent: it runs in a sandbox, and the benchmark has none: add a sandbox entry"
        raise ConfigError(msg)
    if kind == "docker" and options.get("network", "none") == "none":
        msg = (
            "solver agent: the agent asks its model from inside the sandbox, which has no network: "
            "add network: bridge to the benchmark's sandbox"
        )
        raise ConfigError(msg)
