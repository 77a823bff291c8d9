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

# time_left ELAPSED EXPECTED LAST_LINE: ", about M:SS to go" by ninja's [done/total] or ctest's done/total where the line has
# it, else by what is expected; nothing once that is over.
time_left() {
  local left=$(($2 - $1))
  if [[ $3 =~ ^\ *\[?([0-9]+)/([0-9]+) ]] && ((BASH_REMATCH[1] > 0)); then
    left=$(($1 * (BASH_REMATCH[2] - BASH_REMATCH[1]) / BASH_REMATCH[1]))
  fi
  ((left <= 0)) || echo ", about $(clock "$left") to go"
}

# show_progress TITLE ELAPSED EXPECTED LAST_LINE
show_progress() {
  local line
  line="ww: $1  $(clock "$2")$(time_left "$2" "$3" "$4")  ${4:0:50}"
  if [[ -t 2 ]]; then printf '\r\033[K%s' "$line" >&2; else printf '%s\n' "$line" >&2; fi
}

# run_step TITLE EXPECTED_SECONDS LOG COMMAND...: runs it with its output in LOG; from its second second on, shows the
# time, what is left and what it does now. The command ends when we are killed. Returns its exit status.
run_step() {
  local title=$1 expected=$2 log=$3 started=$SECONDS next_line=2 pause=0.1 elapsed status=0
  shift 3
  mkdir -p "${log%/*}"
  setpriv --pdeathsig TERM -- "$@" </dev/null >"$log" 2>&1 &
  step_pid=$!
  while kill -0 "$step_pid" 2>/dev/null; do
    elapsed=$((SECONDS - started))
    if ((elapsed >= next_line)); then
      show_progress "$title" "$elapsed" "$expected" "$(tail -n 1 -- "$log" | tr -c '[:print:]' ' ')"
      [[ -t 2 ]] || next_line=$((elapsed + 15))
      pause=0.4
    fi
    sleep "$pause"
  done
  wait "$step_pid" || status=$?
  step_pid=
  [[ ! -t 2 || $pause == 0.1 ]] || printf '\r\033[K' >&2
  ((status != 0)) || [[ $pause == 0.1 ]] || say "$title: done in $(clock $((SECONDS - started)))"
  return "$status"
}
