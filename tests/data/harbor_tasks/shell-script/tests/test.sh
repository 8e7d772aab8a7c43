#!/bin/bash
# Its own exit code is the reward.
[ "$(printf 'a\nccc\nddd\nbb\n' | ./longest.sh)" = ccc ] || exit 1
[ -z "$(./longest.sh < /dev/null)" ] || exit 1
