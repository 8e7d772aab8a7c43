"""Rows to problems: prepared, checked and rendered, each on its own."""

import json
import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from pytest_nel.authoring.benchmark import Benchmark, Row
from pytest_nel.authoring.template import Template, compile_template, prompt_text
from pytest_nel.core.errors import DataError
from pytest_nel.core.keys import digest
from pytest_nel.core.pictures import picture
from pytest_nel.core.sandbox import SandboxSpec
from pytest_nel.core.sandbox_facts import spec_facts
from pytest_nel.core.types import Message, SeedResult
from pytest_nel.datasets.load import load_rows, plain_rows, row_ids
from pytest_nel.environments._refused_rows import Refusal, in_place_of, refused

_SEED = 42
_QUESTIONS = ("question", "problem", "prompt", "instruction")
_PLACES = (
    *("sandbox_spec", "verify_sandbox_spec", "pre_agent_cmd", "pre_agent_required"),
    *("capture_cmd", "apply_cmd"),
)


class Problems:
    """The problems of a benchmark.

    Attributes:
        dataset: The rows as loaded.
        rows: The rows as prepared, gold answers included; what scorers see.
        rows_hash: The hash of these.
        ids: A name for each.
        prompt_digest: The hash of everything that will be asked.
        extra_digest: The hash of the scorer's settings.
        seeds_digest: The hash of what a ``seed_fn`` makes beside that: gold answers, metadata,
            pictures by content. Of a template's problems the rows say it.
        specs: The sandboxes that they ask for, each once.
        twins: For problems that are asked as one before them is: how many of those there are.
    """

    def __init__(self, benchmark: Benchmark, base: Path, limit: int | None) -> None:
        self._benchmark = benchmark
        self._place = f"{Path(benchmark.file).name}:{benchmark.name}"
        self.dataset = load_rows(benchmark.dataset, base=base, limit=limit, check_ids=False)
        self._template = self._compiled(base)
        self._questions = [name for name in self._template.fields if name in _QUESTIONS]
        with in_place_of(self.dataset):
            self.rows, self.rows_hash = self._prepared()
            self.ids = self._names()
        self._hidden = _gold_names(benchmark)
        self._needs_gold = benchmark.scorer is None and benchmark.judge is None
        self.extra_digest = digest(dict(benchmark.extra))
        self.twins: dict[int, int] = {}
        self._box = sandbox_of(benchmark, base)
        self.specs: list[SandboxSpec] = [] if self._box is None else [self._box]
        self._wanted: dict[int, tuple[int, ...]] = {}
        with in_place_of(self.dataset):
            self.prompt_digest = self._checked()

    def specs_of(self, problems: Iterable[int]) -> list[SandboxSpec]:
        """The sandboxes that some of them ask for, each once."""
        wanted = {at for idx in problems for at in self._wanted.get(idx, (0,))}
        return [spec for at, spec in enumerate(self.specs) if at in wanted]

    def seed(self, idx: int) -> SeedResult:
        """The problem as a solver sees it."""
        if self._benchmark.seed_fn is not None:
            return self._made_by_author(idx)
        row = self.rows[idx]
        at = self.dataset.where(idx)
        prompt = self._prompt(row, at)
        system = self._benchmark.system_prompt
        user: Message = {"role": "user", "content": prompt}
        visible = {key: value for key, value in row.items() if key not in self._hidden}
        return SeedResult(
            prompt=prompt,
            expected_answer=self._target(row, at),
            metadata={**self._origin(), **visible, "problem_idx": idx},
            messages=[{"role": "system", "content": system}, user] if system else [user],
            system=system,
            sandbox_spec=self._box,
            verify_sandbox_spec=self._box,
        )

    def _prompt(self, row: Row, at: str) -> str:
        prompt = self._template.render(row, at)
        if not prompt or prompt.isspace():
            msg = f"{self._place}: the prompt of {at} is empty"
            raise DataError(msg)
        for name in self._questions:
            value = row[name]
            if isinstance(value, str) and (not value or value.isspace()):
                msg = f"{self._place}: the question (field {name!r}) of {at} is empty"
                raise DataError(msg)
        return prompt

    def _made_by_author(self, idx: int) -> SeedResult:
        """The author's own seed, which must be one; the benchmark's system prompt joins it."""
        make = self._benchmark.seed_fn
        assert make is not None
        at = self.dataset.where(idx)
        row = self.rows[idx]
        try:
            made: object = make(dict(row), idx)
        except Exception as error:  # the author's code: anything may come
            how = self._refusal("seed_fn", idx)
            raise refused(error, how, row, lambda other: make(other, idx)) from error
        if not isinstance(made, SeedResult):
            msg = (
                f"{self._place}: seed_fn returned {type(made).__name__} for {at}, not a SeedResult"
            )
            raise DataError(msg)
        if not made.messages and not made.prompt.strip():
            msg = f"{self._place}: seed_fn returned neither prompt nor messages for {at}"
            raise DataError(msg)
        return SeedResult(
            prompt=made.prompt,
            expected_answer=made.expected_answer,
            metadata={**self._origin(), **made.metadata, "problem_idx": idx},
            messages=made.messages,
            system=self._benchmark.system_prompt if made.system is None else made.system,
            images=made.images,
            **self._places(made),
        )

    def _places(self, made: SeedResult) -> dict[str, Any]:
        """Its sandboxes; where it names none, those of the benchmark."""
        own = {name: getattr(made, name) for name in _PLACES}
        if made.sandbox_spec is None and made.verify_sandbox_spec is None:
            own |= {"sandbox_spec": self._box, "verify_sandbox_spec": self._box}
        return own

    def _origin(self) -> dict[str, Any]:
        return {"source": "byob", "benchmark": self._benchmark.name}

    def _compiled(self, base: Path) -> Template:
        if self._benchmark.seed_fn is not None:
            return compile_template("", self._place)
        folder = Path(self._benchmark.file).parent
        folder = folder if folder.is_dir() else base
        return compile_template(
            prompt_text(self._benchmark.prompt, folder, self._place), self._place
        )

    def _prepared(self) -> tuple[list[Row], str]:
        made = self._benchmark
        if not made.field_mapping and made.prepare_row is None:
            return self.dataset.rows, self.dataset.content_hash
        rows = [self._mapped(row, idx) for idx, row in enumerate(self.dataset.rows)]
        if made.prepare_row is not None:
            rows = [self._prepare(row, idx) for idx, row in enumerate(rows)]
        plain, _, rows_hash = plain_rows(rows, self.dataset.where, copy=True)
        return plain, rows_hash

    def _mapped(self, row: Row, idx: int) -> Row:
        """Fields under their further names; the first name stays."""
        named = dict(row)
        for source, new in self._benchmark.field_mapping.items():
            at = self.dataset.where(idx)
            if source not in row:
                msg = (
                    f"{self._place}: field_mapping names {source!r}, which {at} does not have. "
                    f"Fields: {', '.join(sorted(row))}"
                )
                raise DataError(msg)
            if new in named and new != source:
                msg = f"{self._place}: field_mapping would overwrite field {new!r} of {at}"
                raise DataError(msg)
            named[new] = row[source]
        return named

    def _prepare(self, row: Row, idx: int) -> Row:
        """Run prepare_row with a generator of the row's own.

        The reference system hands one generator from row to row, so that a row's draws depend on
        all rows before it; here a subset, a shard and the whole see the same row.
        """
        prepare = self._benchmark.prepare_row
        assert prepare is not None
        at = self.dataset.where(idx)
        copy: Row = json.loads(json.dumps(row))  # the author may change lists in place
        try:
            prepared: object = prepare(copy, idx, _draws(idx))
        except Exception as error:  # the author's code: anything may come
            how = self._refusal("prepare_row", idx)
            raise refused(error, how, row, lambda to: prepare(to, idx, _draws(idx))) from error
        if not isinstance(prepared, dict):
            got = "None (is the return missing?)" if prepared is None else type(prepared).__name__
            msg = (
                f"{self._place}: prepare_row must return the row, a dict; at {at} it returned {got}"
            )
            raise DataError(msg)
        return prepared

    def _refusal(self, what: str, idx: int) -> Refusal:
        at = self.dataset.where(idx)
        return Refusal(self._place, what, self._benchmark.file, at, idx + 1)

    def _names(self) -> list[str]:
        own = row_ids(self.rows, self._benchmark.id_field, self.dataset.where)
        if own is not None:
            return own
        seen: dict[str, int] = {}
        names: list[str] = []
        for mark in self.dataset.digests:
            seen[mark] = seen.get(mark, 0) + 1
            names.append(mark if seen[mark] == 1 else f"{mark}-{seen[mark]}")
        return names

    def _checked(self) -> str:
        """Make every problem once, so that what is wrong shows before the first call."""
        total = sha256(json.dumps(self._benchmark.system_prompt).encode() + b"\n")
        template = self._benchmark.seed_fn is None
        seen: dict[int, int] = {}
        seeds = sha256()
        for idx, row in enumerate(self.rows):
            if template:  # a hundred thousand of them: no more is made than can be wrong
                at = self.dataset.where(idx)
                self._target(row, at)
                asked = json.dumps(self._prompt(row, at))
            else:
                seed = self._made_by_author(idx)
                asked = _asked(seed)
                seeds.update(_beside(seed).encode() + b"\n")
                self._wanted[idx] = tuple(self._noted(seed))
            total.update(asked.encode() + b"\n")
            before = seen.get(mark := hash(asked), 0)
            seen[mark] = before + 1
            if before:
                self.twins[idx] = before
        self.seeds_digest = f"sha256:{seeds.hexdigest()}"
        return f"sha256:{total.hexdigest()}"

    def _noted(self, seed: SeedResult) -> Iterator[int]:
        """Where the sandboxes of a problem stand among all."""
        for spec in (seed.sandbox_spec, seed.verify_sandbox_spec):
            if spec is not None:
                if spec not in self.specs:
                    self.specs.append(spec)
                yield self.specs.index(spec)

    def _target(self, row: Mapping[str, Any], at: str) -> str:
        name = self._benchmark.target_field
        if name is None:
            return ""
        if name not in row:
            msg = (
                f"{self._place}: no field {name!r} in {at} for the gold answer (target_field). "
                f"Fields: {', '.join(sorted(row))}"
            )
            raise DataError(msg)
        value = row[name]
        text = (
            json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else str(value)
        )
        if value is None or (self._needs_gold and not text.strip()):
            state = "null" if value is None else "empty"
            msg = f"{self._place}: the gold answer (field {name!r}) of {at} is {state}"
            raise DataError(msg)
        return text


def _draws(idx: int) -> random.Random:
    return random.Random(f"{_SEED}:{idx}")  # noqa: S311  # repeatable, nothing secret


def _asked(seed: SeedResult) -> str:
    messages = None if seed.messages is None else [dict(each) for each in seed.messages]
    asked = [seed.prompt, seed.system, messages, list(seed.images or ())]
    return json.dumps(asked, sort_keys=True, default=str)


def _beside(seed: SeedResult) -> str:
    pictures = [picture(image) for image in seed.images or ()]
    beside: list[Any] = [seed.expected_answer, dict(seed.metadata), pictures]
    said = {name: getattr(seed, name) for name in _PLACES}
    places = {name: value for name, value in said.items() if value not in (None, False)}
    if places:
        beside.append({name: _plain(value) for name, value in places.items()})
    return json.dumps(beside, sort_keys=True, default=str)


def _plain(value: object) -> object:
    return spec_facts(value) if isinstance(value, SandboxSpec) else value


def sandbox_of(benchmark: Benchmark, base: Path) -> SandboxSpec | None:
    """The sandbox of a benchmark's problems, its paths relative to the folder it is written in."""
    box = benchmark.sandbox
    if box is None or isinstance(box, str):
        return None if box is None else SandboxSpec(image=box)
    folder = box.environment_dir
    files = {str(base / source): target for source, target in box.files.items()}
    return replace(box, files=files, environment_dir=folder and str(base / folder))


def _gold_names(benchmark: Benchmark) -> frozenset[str]:
    """The target field under every name that field_mapping gives it."""
    if benchmark.target_field is None:
        return frozenset()
    names = {benchmark.target_field}
    for source, new in benchmark.field_mapping.items():
        if names & {source, new}:
            names |= {source, new}
    return frozenset(names)
