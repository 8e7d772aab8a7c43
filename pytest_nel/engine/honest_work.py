"""What an honest solver may leave in a workspace, as a script that leaves it.

An ``apply_cmd`` that does not cope with all of it is too weak to tell by its failure that a
workspace was spoiled: ``tar -x`` alone cannot put a file in the place of a folder, and as root
without capabilities it cannot write into a folder that is read-only.
"""

HONEST_WORK = r"""
set -u
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
old=$(ls -A | grep -vx .git | head -n 40)
folder= file=
for each in $old; do
  if [ -L "$each" ]; then continue; fi
  if [ -z "$folder" ] && [ -d "$each" ]; then folder=$each; fi
  if [ -z "$file" ] && [ -f "$each" ]; then file=$each; fi
done
changed=$(git grep -Il . 2>/dev/null | head -n 1)
[ -z "$changed" ] || echo nel >> "$changed"
[ -z "$folder" ] || { chmod -R u+rwX "$folder" && rm -rf "$folder" && echo nel > "$folder"; }
[ -z "$file" ] || { rm -f "$file" && mkdir "$file" && echo nel > "$file/nel"; }
mkdir nel-probe && cd nel-probe || exit 0
mkdir -p "deep/er/$(printf 'a\nb')" shut/in && echo nel > shut/in/x
touch ' blank ' ./-rf 'sp"quo\t' "$(printf '\303\274')" && : > empty && printf 'a\r\nb' > crlf
head -c 5000 /dev/urandom > binary
echo 'exit 0' > run && chmod 755 run && ln run linked
ln -s run link && ln -s nowhere dangling && ln -s /etc/passwd absolute && ln -s .. loop
echo nel > secret && chmod 0400 secret && chmod 0555 shut/in shut
"""
