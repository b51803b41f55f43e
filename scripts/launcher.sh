#!/bin/sh
# What npm, npx and bunx start: runs the program of this name, which lies beside this file, with the Bun that the
# package brings, or else with one from PATH.

file=$0
while [ -L "$file" ]; do
  link=$(readlink "$file")
  case $link in
    /*) file=$link ;;
    *) file=${file%/*}/$link ;;
  esac
done
folder=${file%/*}
program=${file##*/}

# Our optional dependency for this machine, beside us or below us; an installer takes the one that fits.
case $(uname -sm) in
  "Linux x86_64") runtime=@oven/bun-linux-x64 ;;
  "Linux aarch64" | "Linux arm64") runtime=@oven/bun-linux-aarch64 ;;
  "Darwin arm64") runtime=@oven/bun-darwin-aarch64 ;;
  *) runtime=none ;;
esac
for modules in "$folder/../../.." "$folder/../../node_modules"; do
  bun=$modules/$runtime/bin/bun
  if [ -x "$bun" ]; then exec "$bun" "$folder/$program.js" "$@"; fi
done

oldest=BUN_VERSION
if bun=$(command -v bun); then
  version=$("$bun" --version)
  first=$(printf '%s\n%s\n' "$oldest" "$version" | sort -t . -k 1,1n -k 2,2n -k 3,3n | head -n 1)
  if [ "$first" = "$oldest" ]; then exec "$bun" "$folder/$program.js" "$@"; fi
  found="found Bun $version"
else
  found="found no Bun"
fi
cat >&2 <<TEXT
$program: needs Bun $oldest or newer, $found.
It comes with this package unless optional dependencies are left out. Either install the package with them:
  npm install --global --include=optional svc-mgr
or install Bun:
  npm install --global bun@$oldest
TEXT
exit 127
