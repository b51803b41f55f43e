#!/bin/sh
# A program to launch: says how it was started into $STAND_IN_REPORT, then stays until it is ended.
# "--stubborn": ignores TERM and HUP, together with a child. "--leave": ends at once with exit status 3.
# "--leave-late": says nothing for a second, as a large program that is being loaded does, and then leaves.
{
  printf 'cwd=%s\n' "$(pwd)"
  for argument in "$@"; do printf 'arg=%s\n' "$argument"; done
  env
} > "$STAND_IN_REPORT.part" && mv "$STAND_IN_REPORT.part" "$STAND_IN_REPORT"
case "$1" in
  --leave-late) sleep 1; echo "unknown flag"; exit 3 ;;
  --leave) echo "cannot log in"; exit 3 ;;
  --stubborn) trap '' TERM HUP; (while :; do sleep 1; done) & ;;
esac
echo "stand-in is ready"
while :; do sleep 1; done
