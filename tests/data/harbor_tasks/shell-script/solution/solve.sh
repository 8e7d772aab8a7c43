#!/bin/bash
set -e
cat > longest.sh <<'END'
#!/bin/bash
awk 'length($0) > longest { longest = length($0); line = $0; some = 1 } END { if (some) print line }'
END
chmod +x longest.sh
