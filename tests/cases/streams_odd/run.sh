# SPDX-License-Identifier: Apache-2.0
set -u
program=$1 folder=$2
export XDG_CACHE_HOME=$folder/cache
cd -- "$folder" || exit 1

{
  printf '\xef\xbb\xbf{"task": "softmax", "solution": 1}\r\n'
  printf 'no JSON\r\n[]\n{"task": "softmax", "solution": "a", "config": 1e999}\n{"task": "softmax", "solu'
} >requests
"$program" judge <requests
echo "rc $?"
timeout 10 "$program" judge <&-
echo "closed stdin: $?"
(exec >&-; "$program" tasks list) 2>/dev/null
echo "closed stdout: $?"
"$program" tasks list >/dev/full
echo "full stdout: $?"
"$program" --help >/dev/full
echo "full help: $?"
mkfifo requests.fifo
sleep 20 >requests.fifo &
writer=$!
"$program" judge <requests.fifo &
pid=$!
sleep 1
kill -INT "$pid"
wait "$pid"
echo "waiting: $?"
kill "$writer"
