# Sourced by scripts that fetch something: a registry or a mirror may be busy.
#
#   retry COMMAND...   runs the command up to three times, with pauses of 5 and 20 s; fails if it fails each time

retry() {
  local pause
  for pause in 5 20 0; do
    if "$@"; then return; fi
    sleep "$pause"
  done
  return 1
}
