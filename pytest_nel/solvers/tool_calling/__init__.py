"""A solver that lets the model call tools: in the problem's sandbox, of a Gym server, or both."""

from pytest_nel.solvers.tool_calling.solver import ToolCallingSolver

__all__ = ["ToolCallingSolver"]
