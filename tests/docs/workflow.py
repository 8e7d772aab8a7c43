"""Runs the steps of a GitHub workflow: just what docs/how-to/ci/nel-gate.yml needs of it.

Every expression of the file has its meaning in :func:`_values`; one that is not there is an error.
Actions that need GitHub are replaced: a cache is a folder, an upload is a list of files.
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.docs.pipeline import CI, SECRET, Done, Repository, program

TEXT = (CI / "nel-gate.yml").read_text(encoding="utf-8")
BASH = ["bash", "--noprofile", "--norc", "-eo", "pipefail"]  # of `shell: bash`
REPLACED = {"Install (network)"}  # the two programs that it would install are there
GH = """printf '%s\\n' "$*" >> "$GH_CALLS"
case "$*" in
  *--method*) cat comment.md > "$GH_SENT" ;;
  *) cat "$GH_COMMENTS" ;;
esac
"""


@dataclass
class Job:
    """One run of the job.

    Attributes:
        repository: The checked-out repository.
        github: Where runner and caches keep their files.
        candidate: The model name of the candidate; the run's id, too.
        attempt: How often the run was run, this time included.
    """

    repository: Repository
    github: Path
    candidate: str
    attempt: int = 1
    done: dict[str, Done] = field(default_factory=dict)
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)
    summaries: dict[str, str] = field(default_factory=dict)
    uploaded: list[str] = field(default_factory=list)
    failed: bool = False

    def run(self) -> "Job":
        """All steps in their order."""
        program(self.github / "bin/gh", GH)
        for name in ("gh_comments", "gh_calls", "gh_sent"):
            (self.github / name).touch()
        for step in self._workflow()["jobs"]["gate"]["steps"]:
            if self._wanted(step):
                self._step(step)
        return self

    def text(self, name: str) -> str:
        """What a step has printed."""
        return self.done[name].text

    def file(self, name: str) -> str:
        """A file of the runner."""
        return (self.github / name).read_text(encoding="utf-8")

    def _workflow(self) -> dict[str, Any]:
        found: dict[str, Any] = yaml.safe_load(TEXT)
        return found

    def _wanted(self, step: Mapping[str, Any]) -> bool:
        text = str(step.get("if", ""))
        text = text.removeprefix("${{").removesuffix("}}").strip()
        if self.failed and "cancelled()" not in text:
            return False
        return not text or bool(self._conditions()[text])

    def _step(self, step: Mapping[str, Any]) -> None:
        if step["name"] in REPLACED:
            return
        if "run" in step:
            self._script(step)
            return
        action = {
            "actions/checkout": lambda: None,
            "actions/setup-python": lambda: None,
            "actions/cache/restore": lambda: self._restore(step),
            "actions/cache/save": lambda: self._save(step),
            "actions/upload-artifact": lambda: self._upload(step),
        }
        action[step["uses"].partition("@")[0]]()

    def _script(self, step: Mapping[str, Any]) -> None:
        name = step["name"]
        files = {key: self.github / f"{key}.txt" for key in ("output", "summary")}
        for file in files.values():
            file.write_text("", encoding="utf-8")
        env = {name: str(value) for name, value in self._workflow()["env"].items()}
        env |= {key: self._filled(str(value)) for key, value in step.get("env", {}).items()}
        path = f"{self.github / 'bin'}:{self.repository.env['PATH']}"
        env |= {
            **{key: self.repository.env[key] for key in ("BASELINE_URL", "CANDIDATE_URL")},
            "BASELINE_ID": "bf16",
            "CANDIDATE_ID": self.candidate,
            "PATH": path,
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_REPOSITORY": "me/models",
            "GITHUB_OUTPUT": str(files["output"]),
            "GITHUB_STEP_SUMMARY": str(files["summary"]),
            **{f"GH_{key.upper()}": str(self.github / f"gh_{key}") for key in _GH_FILES},
        }
        done = self.repository.run(BASH, step["run"], env)
        self.done[name] = done
        self.summaries[name] = files["summary"].read_text(encoding="utf-8")
        said = files["output"].read_text(encoding="utf-8").splitlines()
        self.outputs[step.get("id", name)] = dict(line.split("=", 1) for line in said)
        self.failed |= done.code != 0 and not step.get("continue-on-error")

    def _restore(self, step: Mapping[str, Any]) -> None:
        key, prefix = (self._filled(step["with"].get(name, "")) for name in ("key", "restore-keys"))
        caches = self.github / "caches"
        found = caches / key
        if not found.exists() and prefix:
            found = next((one for one in caches.glob(f"{prefix}*")), found)
        if found.exists():
            shutil.copytree(found, self.repository.folder / step["with"]["path"])
        hit = "true" if found == caches / key and found.exists() else "false"
        self.outputs[step.get("id", step["name"])] = {
            "cache-hit": hit,
            "cache-primary-key": key,
        }

    def _save(self, step: Mapping[str, Any]) -> None:
        place = self.github / "caches" / self._filled(step["with"]["key"])
        shutil.copytree(self.repository.folder / step["with"]["path"], place)

    def _upload(self, step: Mapping[str, Any]) -> None:
        names = step["with"]["path"].split()
        self.uploaded = [name for name in names if (self.repository.folder / name).exists()]

    def _filled(self, text: str) -> str:
        for expression, value in self._values().items():
            text = text.replace("${{ " + expression + " }}", value)
        assert "${{" not in text, f"an expression without a meaning here: {text}"
        return text

    def _output(self, step: str, name: str) -> str:
        return self.outputs.get(step, {}).get(name, "")

    def _values(self) -> dict[str, str]:
        suite = self.repository.read("quality/suite.nel.yaml")
        return {
            "env.BASELINE_ID": "bf16",
            "env.NEL_VERSION": self._workflow()["env"]["NEL_VERSION"],
            "hashFiles('quality/suite.nel.yaml', 'quality/bench_*.py')": f"{len(suite)}",
            "secrets.NEL_MODEL_API_KEY": SECRET,
            "github.token": "token",
            "github.event.pull_request.number": "12",
            "github.server_url": "https://github.example",
            "github.repository": "me/models",
            "github.run_id": self.candidate,
            "github.run_attempt": str(self.attempt),
            "steps.baseline.outputs.cache-primary-key": self._output(
                "baseline", "cache-primary-key"
            ),
            "steps.gate.outputs.status": self._output("gate", "status"),
        }

    def _conditions(self) -> dict[str, Any]:
        status = self._output("gate", "status")
        return {
            "steps.baseline.outputs.cache-hit != 'true'": self._output("baseline", "cache-hit")
            != "true",
            "steps.gate.outputs.status == '7'": status == "7",
            "!cancelled()": True,
            "!cancelled() && steps.gate.outputs.status": status,
            "github.event_name == 'pull_request'": True,
        }


_GH_FILES = ("comments", "calls", "sent")


def notes(text: str) -> list[str]:
    """The annotations in a log."""
    return [line for line in text.splitlines() if line.startswith("::")]
