"""Variables of a Harbor task's tests: what this machine tells them, and what of it counts."""

import re
from collections.abc import Mapping

from pytest_nel.config.interpolate import getenv
from pytest_nel.config.secrets import not_places
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.keys import digest
from pytest_nel.core.values import is_secret
from pytest_nel.datasets.harbor_task import Task
from pytest_nel.http.secret import Secrets

_REFERENCE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")
_PERSON = re.compile(r"(?<=://)[^/@\s]*@")


def filled(task: Task) -> Mapping[str, str]:
    """The variables of the tests, ``${NAME}`` and ``${NAME:-default}`` from this machine.

    Raises:
        ConfigError: One is not set.
    """

    def value(match: re.Match[str]) -> str:
        found = getenv(match[1])
        if found is None and match[2] is None:
            msg = (
                f"task {task.name}: its tests want the variable {match[1]} (verifier.env), which "
                "is not set"
            )
            raise ConfigError(msg)
        return match[2] if found is None else found

    given = task.settings.verifier_env.items()
    return {name: _REFERENCE.sub(value, text) for name, text in given}


def told(task: Task) -> Secrets:
    """The values of this machine's variables that the tests are told."""
    given = task.settings.verifier_env.values()
    found = (getenv(match[1]) or "" for text in given for match in _REFERENCE.finditer(text))
    return Secrets(not_places(found))


def digest_of_told(task: Task) -> str | None:
    """Of what this machine tells the tests; None: nothing that counts.

    No secret can be guessed by it: a variable named as one does not count, neither as the task
    calls it nor as this machine does, and of an address nobody's name and password.
    """
    found = {}
    for name, text in task.settings.verifier_env.items():
        for match in _REFERENCE.finditer(text):
            if not (is_secret(name) or is_secret(match[1])):
                value = getenv(match[1])
                found[match[1]] = None if value is None else _PERSON.sub("", value)
    return digest(found) if found else None
