#!/bin/bash
# Two rewards with names; `reward` is the one that counts.
python3 /tests/check.py
