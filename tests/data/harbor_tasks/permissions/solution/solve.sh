#!/bin/bash
set -e
mkdir -m 700 secret
echo k > secret/key && chmod 600 secret/key
printf '#!/bin/sh\necho ran\n' > run.sh && chmod 755 run.sh
