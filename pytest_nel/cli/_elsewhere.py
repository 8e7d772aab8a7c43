"""Words of the reference system's ``nel`` that mean nothing here, and what to do instead.

Saying so beats calling them unknown: a script may be right for another program.
"""

from collections.abc import Mapping, Sequence

_LOCAL = "runs are those of this machine, started by nel eval run: leave it out"
_SHARDS = "each part of a run is a run of its own: name it with -r ID or -o DIR"
_A_KEY = (
    "a key among the words of a command is seen by everybody on this machine and stays in the "
    "shell's history: export it and name the variable, as in --api-key-env MY_KEY; NEMO_API_KEY "
    "and NVIDIA_API_KEY are found by themselves"
)
_JUDGE = "a judge is a service of a suite file, and a metric of the benchmark there"
_KINDS = "what is listed is said by a word: nel list benchmarks, or another of its kinds"
_RESUMED = {"--job-id": _LOCAL, "--host": _LOCAL, "-s": _SHARDS}
_SELECTED = {**_RESUMED, "--shard": _SHARDS}
_RUN = {
    "--adapter": "what happens to requests is said by proxy: of a service, in a suite file",
    "--judge-model": _JUDGE,
    "--judge-url": _JUDGE,
    "--no-progress": "without a terminal there are but a few lines: pipe it, or pass -- -q",
    "--shard-idx": "say which part of how many by --shard I/N",
    "--submit": (
        "nothing is submitted: a run happens where it is started; in a job of a cluster, start "
        "it there, in parts by --shard I/N"
    ),
}
_SETTINGS = (
    "there is no file of settings that commands would read: options belong into a suite file, "
    "pytest.ini or the environment"
)

OPTIONS: Mapping[tuple[str, ...], Mapping[str, str]] = {
    ("compare",): {
        "--no-report": "no report is written unless --report or -o asks for one: leave it out"
    },
    ("eval", "clean"): {"--executor": _LOCAL},
    ("eval", "jobs"): {"--offline": "nobody else is asked for the state of a run: leave it out"},
    ("eval", "logs"): _SELECTED,
    ("eval", "merge"): {
        "-n": "repeats are counted from the records: leave it out",
        "--repeats": "repeats are counted from the records: leave it out",
        "-r": "the parts are found by their directories: name them, or the folder that holds them",
    },
    ("eval", "report"): {
        "--with-results": "results lie where the run has written them: leave it out",
    },
    ("eval", "resume"): {
        **_RESUMED,
        "--continue-attempts": (
            "what has no record is always made; for what has one without a score, --only unscored"
        ),
    },
    ("eval", "plan"): _RUN,
    ("eval", "run"): _RUN,
    ("eval", "status"): _SELECTED,
    ("eval", "stop"): _SELECTED,
    ("list",): {
        "-s": _KINDS,
        "--source": _KINDS,
        "--data-dir": "data of benchmarks is looked for in NEL_DATA_DIR: export that",
    },
    ("validate",): {
        "-v": "all that is tried is shown anyway: leave it out",
        "--verbose": "all that is tried is shown anyway: leave it out",
    },
}
COMMANDS: Mapping[tuple[str, ...], str] = {
    ("config", "get"): _SETTINGS,
    ("config", "set"): _SETTINGS,
    ("config", "unset"): _SETTINGS,
}


def meant_elsewhere(called: tuple[str, ...], words: Sequence[str]) -> str | None:
    """Why one of the words means nothing here, and the way out; None where none is known.

    Args:
        called: The words of the command; empty where they name none.
        words: All of the line; the message shows none but the option's own.
    """
    if not called:
        said = tuple(word for word in words if not word.startswith("-"))[:2]
        why = COMMANDS.get(said)
        return None if why is None else f"{' '.join(said)}: {why}"
    known = {"--api-key": _A_KEY, **OPTIONS.get(called, {})}
    for word in words:
        name = word.partition("=")[0]
        if name in known:
            return f"{name}: {known[name]}"
    return None
