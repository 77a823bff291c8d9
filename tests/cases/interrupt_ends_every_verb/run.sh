# SPDX-License-Identifier: Apache-2.0
#
# Starts a verb, waits until the process that does the work is there, sends SIGINT, and says how it ended, whether soon
# (a second is what it should take; the rest is for a loaded machine; left alone each would go on far longer), and how
# many children live on. An orphan that nobody has reaped yet is no longer alive.
set -u
program=$1 folder=$2
home=${WW_HOME:-$(cd -- "$(dirname -- "$0")/../../.." && pwd)}
export XDG_CACHE_HOME=$folder/cache
cd -- "$folder" || exit 1

descendants() {
  local child
  for child in $(cat "/proc/$1/task/"*/children 2>/dev/null); do
    echo "$child"
    descendants "$child"
  done
}

alive() { [[ -e /proc/$1/stat && $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) != [ZX]* ]]; }

# interrupt WORKER VERB...: once a process of that name has been at work for a second.
interrupt() {
  local worker=$1 pid status start took child children="" left=0
  shift
  "$program" "$@" >out 2>err &
  pid=$!
  for ((i = 0; i < 300; i++)); do
    for child in $(descendants "$pid"); do
      [[ $(cat "/proc/$child/comm" 2>/dev/null) != $worker* ]] || break 2
    done
    sleep 0.1
  done
  sleep 1
  children=$(descendants "$pid")
  start=$(date +%s%N)
  kill -INT "$pid" || echo "$1 was over too soon: $(cat out err)"
  wait "$pid"
  status=$?
  took=$((($(date +%s%N) - start) / 1000000))
  for child in $children; do ! alive "$child" || left=$((left + 1)); done
  if ((took < 5000)); then took="in time"; else took="after $took ms"; fi
  echo "$status $1 $took, $left left"
}

mkdir -p endless slow/kernels
cat >endless/model.py <<'TEXT'
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        while True:
            pass


def get_inputs():
    return [torch.randn(4)]


def get_init_inputs():
    return []
TEXT
# Seconds of template instantiation.
{
  printf '#include <warpwright/solution.h>\n#include <algorithm>\n#include <map>\n#include <vector>\n'
  for ((i = 0; i < 8000; i++)); do
    printf 'struct S%d { int x; bool operator<(const S%d& o) const { return x < o.x; } };\n' $i $i
    printf 'int f%d(std::vector<S%d> v) { std::sort(v.begin(), v.end()); std::map<S%d, int> m; return m[v[0]]; }\n' $i $i $i
  done
  printf 'int ww_forward(const ww_call*) { return 0; }\n'
} >slow/kernels/slow.cpp

interrupt python tasks check endless/model.py
interrupt cc1plus build slow
interrupt ww-runner judge gelu_layernorm "$home/tests/honest/gelu_layernorm_plain" --time-cap 20
printf '{"calls": [{"tool": "%s", "arguments": %s}]}\n' bash '{"command": "sleep 6"}' finish '{}' >replies.jsonl
interrupt sleep optimize gelu_layernorm --model script:replies.jsonl --run run
[[ ! -e run/result.json ]] || echo "the run is over though it was interrupted"
"$program" optimize --resume run >out 2>err
echo "resumed: exit $?"
cat err
