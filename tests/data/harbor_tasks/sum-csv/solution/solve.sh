#!/bin/bash
set -e
printf 'region,amount\nnorth,10\nsouth,5\nnorth,2\n' > sales.csv
{ echo region,total; tail -n +2 sales.csv | awk -F, '{t[$1] += $2} END {for (r in t) print r "," t[r]}' | sort; } > totals.csv
