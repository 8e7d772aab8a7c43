# Runs a command, read from stdin, in the folder and with the variables that the one before it left.
# $1 names the place where they are kept. Its exit status is the command's; it prints nothing itself.
for __nel_dir in "${TMPDIR:-/tmp}" /tmp /dev/shm /var/tmp; do
    if mkdir -p "$__nel_dir/.nel-$1" 2>/dev/null && [ -w "$__nel_dir/.nel-$1" ]; then
        __nel_state=$__nel_dir/.nel-$1
        break
    fi
done
set --
__nel_save() {
    set +eu
    __nel_saved=1
    [ -n "$__nel_state" ] || return 0
    { pwd >|"$__nel_state/cwd"; } 2>/dev/null
    { (unset NEL_EXEC NEL_SANDBOX; export -p) >|"$__nel_state/new" &&
        command mv -f "$__nel_state/new" "$__nel_state/env"; } 2>/dev/null
    return 0
}
if [ -n "$__nel_state" ] && [ -f "$__nel_state/env" ]; then
    if [ -n "$BASH_VERSION" ]; then
        for __nel_name in $(compgen -e); do # what was unset stays unset
            case $__nel_name in NEL_*) ;; *) unset "$__nel_name" 2>/dev/null ;; esac
        done
    fi
    . "$__nel_state/env" 2>/dev/null
    __nel_cwd=$(PATH=/usr/local/bin:/usr/bin:/bin; cat "$__nel_state/cwd" && echo x)
    cd "${__nel_cwd%?x}" || echo "now in $(pwd)" >&2
fi
__nel_command=$(PATH=/usr/local/bin:/usr/bin:/bin; cat)
exec </dev/null
trap '{ __nel_code=$?; set +x; [ -n "$__nel_saved" ] || __nel_save; } 2>/dev/null; exit $__nel_code' EXIT
__nel_saved=
{ # read as one: after a quote without its end bash takes no reserved word for one
    eval "$__nel_command"
    { # nothing of this is to be seen where commands are traced
        __nel_code=$?
        set +x
        __nel_save
    } 2>/dev/null
    exit $__nel_code
}
