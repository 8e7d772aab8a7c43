"""Takes everything out of a repository that is no ancestor of HEAD: what was fixed later."""

from collections.abc import Mapping

from pytest_nel.core.sandbox import Sandbox, SandboxError

TIMEOUT = 900.0
_MARK = "NEL_GIT_CLEANUP"
_SCRIPT = r"""
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
export LC_ALL=C GIT_OPTIONAL_LOCKS=0
said() { echo "NEL_GIT_CLEANUP $*"; }
fails() { said "failed=$1"; exit 4; }
began=$(date +%s)
if ! command -v git >/dev/null 2>&1; then
  [ -e .git ] && fails no-git-to-scrub-with
  said skipped=no-git; exit 0
fi
dir=$(git rev-parse --absolute-git-dir 2>/dev/null) || {
  [ -e .git ] && fails unreadable-repository
  said skipped=no-repository; exit 0
}
base=$(git rev-parse -q --verify 'HEAD^{commit}') || {
  [ -n "$(git for-each-ref | head -1)" ] && fails no-head
  said skipped=no-head; exit 0
}
commits() {
  git cat-file --batch-all-objects --batch-check='%(objecttype) %(objectname)' |
    awk '$1 == "commit" || $1 == "tag" { print $2 }' | sort
}
before=$(commits | wc -l)
branch=$(git symbolic-ref -q HEAD) || branch=refs/heads/main
git remote | while read -r name; do git remote remove "$name"; done
git update-ref --no-deref HEAD "$base" || fails detach
git for-each-ref --format='delete %(refname)' | git update-ref --stdin || fails refs
git update-ref "$branch" "$base" && git symbolic-ref HEAD "$branch" || fails branch
rm -rf "$dir/logs" "$dir"/FETCH_HEAD "$dir"/ORIG_HEAD "$dir"/MERGE_HEAD "$dir"/CHERRY_PICK_HEAD \
  "$dir"/REVERT_HEAD "$dir"/BISECT_* "$dir"/rebase-apply "$dir"/rebase-merge "$dir"/AUTO_MERGE
rm -f "$dir"/objects/pack/*.keep "$dir"/objects/pack/*.promisor
git worktree prune >/dev/null 2>&1
git reflog expire --expire=now --expire-unreachable=now --all >/dev/null 2>&1
git -c gc.auto=0 gc --quiet --prune=now >/dev/null 2>&1; gc=$?
git prune --expire=now >/dev/null 2>&1
kept=$(mktemp) && git rev-list "$base" | sort > "$kept" || fails rev-list
after=$(commits | wc -l)
left=$(commits | comm -23 - "$kept" | wc -l)
rm -f "$kept"
ended=$(date +%s)
said "base=$base commits_before=$((before)) commits_after=$((after))" \
  "non_ancestor_left=$((left)) gc_rc=$gc elapsed_s=$((ended - began))"
[ "$((left))" -eq 0 ] || exit 3
"""


async def scrub(sandbox: Sandbox) -> Mapping[str, str]:
    """Rewrite the repository in the workdir; without one there is nothing to do.

    Tags, remotes, logs and stashes go, HEAD stays on its branch, files and index as they are.
    Repositories of submodules are not looked into.

    Returns:
        What the record keeps: the base commit, commits before and after, seconds; or why it was
        skipped.

    Raises:
        SandboxError: Commits are left that are no ancestors of HEAD, or git failed.
    """
    ran = await sandbox.exec(_SCRIPT, TIMEOUT)
    line = next((each for each in ran.stdout.splitlines() if each.startswith(_MARK)), "")
    pairs = (word.partition("=") for word in line.split()[1:])
    audit = {name: value for name, _, value in pairs}
    if ran.return_code != 0 or not audit:
        why = line or (ran.stderr or ran.stdout).strip()[-500:] or "it said nothing"
        ended = "its time was up" if ran.timed_out else f"exit {ran.return_code}"
        msg = (
            f"the git history in {sandbox.workdir} could not be scrubbed ({ended}): {why}; the "
            "solver was not shown it"
        )
        raise SandboxError(msg, retryable=False)
    return audit
