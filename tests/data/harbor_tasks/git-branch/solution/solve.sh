#!/bin/bash
set -e
export GIT_AUTHOR_NAME=o GIT_AUTHOR_EMAIL=o@example.com GIT_COMMITTER_NAME=o
export GIT_COMMITTER_EMAIL=o@example.com
git init -q -b main repo && cd repo
echo a > a.txt && git add a.txt && git commit -q -m one
git checkout -q -b topic
echo b > b.txt && git add b.txt && git commit -q -m two
git checkout -q main
