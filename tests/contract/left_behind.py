"""What solvers leave in containers: odd and honest, or spoiled on purpose."""

from pathlib import Path
from typing import Any

from pytest_nel.core.protocols import EvalEnvironment
from pytest_nel.core.sandbox import Sandbox, SandboxSpec
from pytest_nel.core.types import SeedResult, SolveResult, VerifyResult
from pytest_nel.environments._harbor_commands import Capture, apply_command, capture_command
from tests.contract.boxes import IMAGE

WORKDIR = "/workspace"
DOCKERFILE = rf"""
FROM {IMAGE}
USER root
WORKDIR {WORKDIR}
RUN mkdir -p data/deep && echo 1 > data/deep/one && echo 2 > two && \
    printf 'a\r\nb\r\n' > crlf && git init -q . && git config user.name n && \
    git config user.email n@n && git add -A && git commit -qm one
"""
ODD = r"""
set -e; touch "$(printf 'a\nb')" ' blank ' ./-rf 'ünïcode' 'sp"quo\t'
mkdir -p shut/in && touch shut/in/x
echo secret > closed && chmod 0400 closed && chmod 0555 shut/in shut && chmod 0755 two
ln -s /etc/passwd absolute && ln -s nowhere dangling && ln two linked && ln -s . loop
rm -rf data && echo file > data && rm crlf && mkdir crlf && echo c > crlf/c
truncate -s 20M sparse && head -c 100000 /dev/urandom > noise && : > empty
"""
THERE = r"""
[ -e "$(printf 'a\nb')" ] && [ -e ' blank ' ] && [ -e ./-rf ] && [ -e 'ünïcode' ] &&
[ -x two ] && [ "$(readlink absolute)" = /etc/passwd ] && [ -L dangling ] && [ -L loop ] &&
[ "$(cat data)" = file ] && [ "$(cat crlf/c)" = c ] && [ -e shut/in/x ] &&
[ "$(stat -c %s sparse noise | paste -sd,)" = 20971520,100000 ] && [ -e empty ] && [ -e linked ]
"""
NO_TAR = """
real=$(command -v tar); cp "$real" /tmp/real-tar
printf '#!/bin/sh\\nhead -c 4000 /dev/urandom > /output/workspace.tar\\n' > /tmp/fake
cat /tmp/fake > "$real" && chmod 755 "$real"
"""


class Works:
    """A solver that runs a script as root."""

    def __init__(self, script: str) -> None:
        self.script = script

    async def solve(self, seed: SeedResult, sandbox: Sandbox) -> SolveResult:
        del seed
        ran = await sandbox.exec(self.script)
        assert ran.return_code == 0, ran.stderr
        return SolveResult("done")


class Looks(EvalEnvironment):
    """Problems in a repository; looks whether all is there that a solver has made."""

    name = "looks"
    needs_sandbox = True

    def __init__(self, folder: Path, how: Capture, **changes: str) -> None:
        folder.mkdir()
        (folder / "Dockerfile").write_text(DOCKERFILE)
        spec = SandboxSpec(workdir=WORKDIR, user="root", environment_dir=str(folder))
        commands = {
            "capture_cmd": capture_command(WORKDIR, how),
            "apply_cmd": apply_command(WORKDIR),
        }
        self.seeded: Any = {
            "sandbox_spec": spec,
            "verify_sandbox_spec": spec,
            **(commands | changes),
        }

    def __len__(self) -> int:
        return 4

    async def seed(self, idx: int) -> SeedResult:
        return SeedResult(f"work ({idx})", "", {}, **self.seeded)

    async def sandbox_specs(self) -> list[SandboxSpec]:
        return [self.seeded["sandbox_spec"]]

    async def verify(
        self, response: str, expected: str, sandbox: Sandbox | None = None, **metadata: Any
    ) -> VerifyResult:
        del response, expected, metadata
        assert sandbox is not None
        ran = await sandbox.exec(["/bin/sh", "-c", THERE])
        return VerifyResult(float(ran.return_code == 0), ran.stderr[:200])
