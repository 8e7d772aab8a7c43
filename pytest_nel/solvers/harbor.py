"""The agent solver by the name that it has in suites of the reference system."""

from pytest_nel.solvers.agent import AgentOptions, AgentSolver


class HarborSolver(AgentSolver):
    """As :class:`AgentSolver`; agents of the harbor package itself are refused by name."""

    class Config(AgentOptions):
        """Options of ``solver: {type: harbor}``."""
