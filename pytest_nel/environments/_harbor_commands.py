"""Commands of Harbor tasks: packing a workspace, bringing it in, clearing the tests' place."""

import shlex
from typing import Literal, TypeAlias

from pytest_nel.core.sandbox import BASE_COMMIT

Capture: TypeAlias = Literal["auto", "tree", "patch"]
LARGE_HISTORY = 64 * 1024
"""KiB of a ``.git`` from which on ``auto`` takes a patch: the fresh container has the history."""

_OPEN = "find . -type d ! -perm -0700"
_TREE = f"""
  # Root has no capabilities in a container of ours, and tar does not know: what it cannot write
  # to is opened before, and closed again when all is unpacked.
  {_OPEN} -printf '%d %m %p\\0' -exec chmod u+rwx {{}} \\; > "$out/modes" 2>/dev/null || :
  tar -cf "$out/files.tar" . 2> "$out/tar.err" || {{
    [ $? -le 1 ] || tar --ignore-failed-read -cf "$out/files.tar" . || exit 3
  }}
  echo tree > "$out/mode"
"""
_AS_IT_IS = {
    "core.attributesFile": "/dev/null",
    "core.checkStat": "default",
    "core.fileMode": "true",
    "core.fsmonitor": "false",
    "core.ignoreStat": "false",
    "core.safecrlf": "false",
    "core.trustctime": "true",
    "core.untrackedCache": "false",
    "diff.algorithm": "default",
    "diff.ignoreSubmodules": "none",
    "diff.interHunkContext": "0",
    "diff.relative": "false",
    "diff.submodule": "short",
    "diff.suppressBlankEmpty": "false",
    "diff.wsErrorHighlight": "none",
}
"""What a repository may say of how git looks at files, or writes a patch, as git has it by itself.

Line ends and ignored files are left to the repository: they are about its files.
"""
_GIT = "git " + " ".join(f"-c {name}={value}" for name, value in _AS_IT_IS.items())
_DIFF = (
    f"{_GIT} diff --cached --binary --no-color --no-ext-diff --no-textconv --no-renames "
    "--src-prefix=a/ --dst-prefix=b/ -U3 -O/dev/null"
)
_APPLY = "git -c apply.ignoreWhitespace=no apply --binary --whitespace=nowarn"
_PATCH = f"""
  base=$(cat "{BASE_COMMIT}" 2>/dev/null) && [ -n "$base" ] || {{
    echo "the commit that the agent began from is not known ({BASE_COMMIT})" >&2; exit 6
  }}
  unset GIT_DIFF_OPTS GIT_EXTERNAL_DIFF
  {_GIT} add -A && {_DIFF} "$base" > "$out/changes.patch" || exit 4
  echo patch > "$out/mode"
"""
_SAFE = "export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'"


def capture_command(workdir: str, how: Capture) -> str:
    """Packs the workspace into ``/output/workspace.tar``: all of it, or what git says has changed.

    Args:
        workdir: What is packed.
        how: ``tree`` packs the folder with all that is in it, repositories too. ``patch`` packs
            what ``git diff`` says: ignored files, commits and branches are lost. ``auto`` takes
            the patch for repositories whose history is large.
    """
    choose = {
        "tree": "mode=tree",
        "patch": "mode=patch",
        "auto": (
            "mode=tree; [ ! -d .git ] || "
            f'[ "$(du -sk .git | cut -f1)" -lt {LARGE_HISTORY} ] || mode=patch'
        ),
    }[how]
    return f"""
cd {shlex.quote(workdir)} || exit 2
{_SAFE}
out=$(mktemp -d) || exit 2
{choose}
if [ "$mode" = tree ]; then {_TREE}
else {_PATCH}
fi
rm -f "$out/tar.err"
rm -rf /output/workspace.tar || exit 2
tar -cf /output/workspace.tar -C "$out" . && rm -rf "$out"
"""


def apply_command(workdir: str) -> str:
    """Brings ``/input/workspace.tar`` into a fresh container.

    A tree takes the place of what is in the folder. A patch is applied as it is, or where it
    does not fit so, against what it was made of.
    """
    return f"""
cd {shlex.quote(workdir)} || exit 2
{_SAFE}
in=$(mktemp -d) && tar -xf /input/workspace.tar -C "$in" --no-same-owner || exit 2
case "$(cat "$in/mode")" in
tree)
  {_OPEN} -exec chmod u+rwx {{}} \\; 2>/dev/null
  find . -mindepth 1 -maxdepth 1 -exec rm -rf {{}} + &&
    tar -xpf "$in/files.tar" --no-same-owner || exit 3
  [ ! -s "$in/modes" ] || sort -zrn "$in/modes" | xargs -0 sh -c '
    for each; do each=${{each#* }}; chmod "${{each%% *}}" "${{each#* }}" || exit 1; done' sh ||
    exit 3 ;;
patch)
  [ ! -s "$in/changes.patch" ] ||
    {_APPLY} "$in/changes.patch" ||
    {_APPLY} --3way "$in/changes.patch" || exit 4 ;;
*) echo "the workspace says no mode" >&2; exit 5 ;;
esac
rm -rf "$in"
"""


_ROUNDS = 4000
"""Looks at all processes: one that was killed stays for a moment, on a busy machine for longer."""
_STAT = """
facts() {  # of process $1: its state and its parent
  line=; state=; parent=0
  { read -r line < "/proc/$1/stat"; } 2>/dev/null || return 1
  line=${line##*) }
  state=${line%% *}; line=${line#* }; parent=${line%% *}
}
"""
SWEEP = f"""{_STAT}
mine=" $$ "; at=$$
while facts "$at" && [ "$parent" -gt 1 ] 2>/dev/null; do at=$parent; mine="$mine$at "; done
first=
for folder in /proc/[0-9]*; do
  id=${{folder#/proc/}}
  [ "$id" -gt 1 ] || continue
  {{ [ -z "$first" ] || [ "$id" -lt "$first" ]; }} && first=$id
done
facts "$first" && [ "$parent" = 1 ] && mine="$mine$first "  # keeps the container up
round=0; signal=KILL
while [ "$round" -lt {_ROUNDS} ]; do
  # What is stopped starts nothing while others are looked for.
  round=$((round + 1)); left=; [ "$signal" = STOP ] && signal=KILL || signal=STOP
  for folder in /proc/[0-9]*; do
    id=${{folder#/proc/}}
    [ "$id" -gt 1 ] || continue
    case "$mine" in *" $id "*) continue ;; esac
    facts "$id" || continue
    [ "$state" = Z ] && continue
    kill -"$signal" "$id" 2>/dev/null && left=1
  done
  [ -n "$left" ] || break
done
[ -z "$left" ] || {{ echo "processes of the agent do not end" >&2; exit 8; }}
"""
"""Ends every process of the user whose command it is, but what keeps the container up.

It uses what the shell itself can, no program: those an agent may have replaced.
"""

SWEEP_OTHERS = f"""
uid=0
while read -r key value rest; do [ "$key" = Uid: ] && uid=$value; done < /proc/self/status
[ "$uid" = 0 ] || kill -KILL -1 2>/dev/null
{SWEEP}"""
"""The same for a user who is not root: nothing of theirs keeps the container up."""


def clear_command(token: str, *, sweep: bool, writable: bool) -> str:
    """Makes ``/tests``, ``/logs/verifier`` and ``/reward.txt`` new; run as root.

    Root has no capabilities in a container of ours, so that it cannot remove what another user
    made unreadable: that is put aside under a name with ``token``.

    Args:
        token: Not to be guessed.
        sweep: Whether root's processes are ended before.
        writable: Whether the tests run as another user, who must be able to write.
    """
    mode = "1777" if writable else "0755"
    return f"""
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
unset LD_PRELOAD LD_LIBRARY_PATH BASH_ENV ENV
{SWEEP if sweep else ""}
there() {{ [ -e "$1" ] || [ -L "$1" ]; }}
away() {{
  there "$1" || return 0
  [ -L "$1" ] || chmod -R u+rwX "$1" 2>/dev/null
  rm -rf "$1" 2>/dev/null
  there "$1" || return 0
  mv -f "$1" "/.nel-{token}-${{1##*/}}" 2>/dev/null
}}
away /tests; away /reward.txt
if [ -L /logs ] || [ ! -d /logs ] || [ ! -O /logs ] || [ ! -w /logs ]; then away /logs; fi
[ ! -d /logs ] || away /logs/verifier
mkdir -p /logs/verifier && chmod 0755 /logs && chmod {mode} /logs/verifier || exit 9
there /tests && exit 9
there /reward.txt && exit 9
[ "$(cd /logs/verifier && pwd -P)" = /logs/verifier ] && [ -z "$(ls -A /logs/verifier)" ] || exit 9
"""
