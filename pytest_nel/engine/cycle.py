"""What the attempts of one benchmark do with sandboxes."""

from dataclasses import dataclass, field
from pathlib import Path

from pytest_nel.core.types import SeedResult
from pytest_nel.engine.artifacts import Artifacts
from pytest_nel.engine.sandboxes import Room
from pytest_nel.engine.trials import Trials


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """What the attempts of one benchmark do with sandboxes.

    Attributes:
        room: Makes them; None where the suite has none.
        artifacts: Keeps workspaces.
        needed: Whether its verifier cannot do without.
        visits: Whether its verifier can use one at all: a plain scorer cannot.
        trials: What is known of its verifiers.
    """

    room: Room | None = None
    artifacts: Artifacts = field(default_factory=lambda: Artifacts(Path()))
    needed: bool = False
    visits: bool = True
    trials: Trials = field(default_factory=Trials)

    def verifies_in_one(self, seed: SeedResult) -> bool:
        """Whether the verifier of a problem is given a sandbox."""
        wants = self.needed or seed.sandbox_spec is not None
        return self.visits and (wants or seed.verify_sandbox_spec is not None)

    def stateless(self, seed: SeedResult) -> bool:
        """Whether a problem is verified in another sandbox than it is solved in."""
        if self.room is None or not self.visits or seed.verify_sandbox_spec is None:
            return False
        # Where nothing is carried over, a text is judged: an agent who was root in the sandbox
        # could have put another program in the place of one that judges it.
        return seed.capture_cmd is None or not self.room.option("stateful")
