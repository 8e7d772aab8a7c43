#!/bin/bash
set -e
cp /solution/median.py median.py
