#!/bin/bash
set -e
id -un > whoami.txt || id -u > whoami.txt
