"""Tasks of our own in the shape of PinchBench's."""

from pathlib import Path

CHECKS = """
def grade(transcript: list, workspace_path: str) -> dict:
    from pathlib import Path

    note = Path(workspace_path) / "note.txt"
    text = note.read_text() if note.exists() else ""
    called = any(
        part.get("type") == "toolCall" and part.get("name") == "bash"
        for event in transcript
        for part in event.get("message", {}).get("content", [])
    )
    return {"there": float(note.exists()), "says": float("milk" in text), "tool": float(called)}
"""
SIMPLE = CHECKS.replace(', "tool": float(called)', "")
RUBRIC = "### Criterion 1: Tone (Weight: 100%)\n\n**Score 1.0**: Friendly."


def task(
    kind: str = "automated", *, checks: str | None = SIMPLE, rubric: str = RUBRIC, front: str = ""
) -> str:
    code = "" if checks is None else f"## Automated Checks\n\n```python\n{checks.strip()}\n```\n"
    judge = f"## LLM Judge Rubric\n\n{rubric}\n" if rubric else ""
    return (
        f"---\nid: task_note\nname: A note\ncategory: writing\ngrading_type: {kind}\n"
        f"timeout_seconds: 90\n{front}---\n\n# A note\n\n## Prompt\n\n"
        "Write `note.txt` in this form, and say so:\n\n```markdown\n## Shopping\n- milk\n```\n\n"
        "---\n\n## Expected Behavior\n\nThe agent writes a friendly note.\n\n---\n\n"
        f"## Grading Criteria\n\n- [ ] There is a note\n\n---\n\n{code}\n---\n\n{judge}"
    )


def tree(folder: Path, **tasks: str) -> Path:
    """A folder with these tasks, and assets beside them."""
    (folder / "tasks").mkdir(parents=True)
    (folder / "assets" / "csvs").mkdir(parents=True)
    (folder / "assets" / "csvs" / "prices.csv").write_bytes(b"day,price\n1,2.50\n")
    for name, text in tasks.items():
        (folder / "tasks" / f"task_{name}.md").write_text(text, encoding="utf-8")
    return folder
