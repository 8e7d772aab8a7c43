"""HumanEval: 164 functions to write from their signature and docstring.

Split ``test`` of ``openai/openai_humaneval`` (MIT) at a pinned commit. Chen et al., *Evaluating
Large Language Models Trained on Code*, 2021, arXiv:2107.03374. The code of the answer is run
against the problem's tests in a sandbox without network, 30 s a program.

Asked as chat: the stub, and the wish for the whole function in one code block. The paper let base
models go on from the stub; published scores of chat models differ in how they take the code out
of the answer. The last block that defines the function counts, and the stub's own imports and
helpers are there whether the answer repeats them or not. The metric is pass@1; with ``repeats``
the summary has pass@k.
"""

from pytest_nel import SandboxSpec, ScorerInput, VerifyResult, benchmark, code_sandbox, scorer


def gold(sample: ScorerInput) -> str:
    """The stub with the canonical body."""
    row = sample.metadata
    return f"```python\n{row['prompt']}{sample.target}```"


@benchmark(
    name="humaneval",
    dataset=(
        "hf://openai/openai_humaneval?split=test&revision=7dce6050a7d6d172f3cc5c32aa97f52fa1a2e544"
    ),
    size=164,
    prompt=(
        "Complete the following Python function. Reply with the whole function, its imports "
        "included, in one Python code block and nothing else.\n\n```python\n{prompt}```"
    ),
    target_field="canonical_solution",
    id_field="task_id",
    gold=gold,
    sandbox=SandboxSpec(image="python:3.12-slim"),
)
@scorer
async def humaneval(sample: ScorerInput) -> VerifyResult:
    """Run it."""
    return await code_sandbox(sample)
