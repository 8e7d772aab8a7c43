#!/bin/bash
set -e
printf 'red green\nblue red\nred\n' > text.txt
tr ' ' '\n' < text.txt | sort | uniq -c | sort -rn | head -1 | awk '{print $2, $1}' > answer.txt
