# SPDX-License-Identifier: Apache-2.0
#
# Sourced by tools/setup and tools/test: one line of news, one long step with progress, the lock between two at once.
# Requires: $home (repository root) and $state (its .ww folder, made).

interrupted() {
  [[ -z ${step_pid-} ]] || kill -TERM "$step_pid" 2>/dev/null || true
  printf '\n' >&2
  say "interrupted; the same command continues where this stopped"
  exit 130
}

say() { printf 'ww: %s\n' "$*" >&2; }

# Says one line naming the thing, the limit and the next step; exit 3 is "our fault or the machine's".
stop() {
  say "$*"
  exit 3
}

clock() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); }

# take_lock WHAT: one at a time. The kernel drops the lock with the last process that holds it, however that ended.
take_lock() {
  exec 9<>"$state/lock"
  if ! flock -n 9; then
    local holder
    read -r holder <"$state/lock" || holder=unknown
    say "another $1 is under way here (process $holder); waiting for it"
    flock 9
  fi
  printf '%s\n' $$ >"$state/lock"
}

# left_of LOG ELAPSED EXPECTED: seconds still to go, from ninja's [done/total] where the log has it.
left_of() {
  local last=$detail elapsed=$2 expected=$3
  if [[ $last =~ ^\[([0-9]+)/([0-9]+)\] ]] && ((BASH_REMATCH[1] > 0)); then
    local finished=${BASH_REMATCH[1]} total=${BASH_REMATCH[2]}
    printf '%d' $((elapsed * (total - finished) / finished))
  else
    printf '%d' $((expected > elapsed ? expected - elapsed : 0))
  fi
}

# run_step TITLE EXPECTED_SECONDS LOG COMMAND...: runs it with its output in LOG, showing time and what it does now.
# The command ends when we are killed. Returns its exit status.
run_step() {
  local title=$1 expected=$2 log=$3 started=$SECONDS next_line=15 elapsed detail status=0
  shift 3
  mkdir -p "${log%/*}"
  [[ -t 2 ]] || say "$title (about $(clock "$expected"))"
  setpriv --pdeathsig TERM -- "$@" </dev/null >"$log" 2>&1 &
  step_pid=$!
  while kill -0 "$step_pid" 2>/dev/null; do
    elapsed=$((SECONDS - started))
    detail=$(tail -n 1 -- "$log" | tr -c '[:print:]' ' ')
    if [[ -t 2 ]]; then
      printf '\r\033[Kww: %s  %s, %s to go  %.60s' "$title" "$(clock $elapsed)" \
        "$(clock "$(left_of "$log" $elapsed "$expected")")" "$detail" >&2
    elif ((elapsed >= next_line)); then
      say "$title: $(clock $elapsed), $(clock "$(left_of "$log" $elapsed "$expected")") to go  ${detail:0:70}"
      next_line=$((elapsed + 15))
    fi
    sleep 0.3
  done
  wait "$step_pid" || status=$?
  step_pid=
  [[ ! -t 2 ]] || printf '\r\033[K' >&2
  ((status != 0)) || say "$title: done in $(clock $((SECONDS - started)))"
  return "$status"
}
