#!/bin/sh
# measure.sh RUN_DIR [OPTION...]: measure, and go on as long as attempts lack a score (exit 7).
run=$1
shift
tries=0
while :; do
    status=0
    pytest -p nel "$(dirname "$0")/suite.nel.yaml" --nel-output-dir "$run" --nel-resume "$@" || status=$?
    tries=$((tries + 1))
    if [ "$status" -ne 7 ] || [ "$tries" -gt "${NEL_TRIES:-3}" ]; then
        exit "$status"
    fi
    sleep "${NEL_PAUSE:-60}"
done
