#!/bin/bash
# Each of the facts is worth a quarter.
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
cd repo 2>/dev/null || { echo 0 > /logs/verifier/reward.txt; exit; }
points=0
[ "$(git symbolic-ref HEAD)" = refs/heads/main ] && points=$((points + 25))
[ "$(git rev-list --count main)" = 1 ] && points=$((points + 25))
[ "$(git rev-list --count topic)" = 2 ] && points=$((points + 25))
[ "$(git ls-tree --name-only topic | tr '\n' ' ')" = "a.txt b.txt " ] && points=$((points + 25))
awk "BEGIN { print $points / 100 }" > /logs/verifier/reward.txt
