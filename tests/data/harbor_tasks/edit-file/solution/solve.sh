#!/bin/bash
set -e
printf '[server]\nport = 8080\nhost = 127.0.0.1\n' > settings.ini
