#!/bin/bash
# 1 where the check passes, else 0.
if [ "$(cat whoami.txt 2>/dev/null)" = nobody ] && [ "$(id -u)" = 0 ]; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
