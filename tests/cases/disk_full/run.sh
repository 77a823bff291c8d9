# SPDX-License-Identifier: Apache-2.0
#
# A disk of a few KiB, filled and emptied again, in a mount namespace of its own.
set -u
program=$1 folder=$2
home=${WW_HOME:-$(cd -- "$(dirname -- "$0")/../../.." && pwd)}
solution=$home/tests/honest/gelu_layernorm_plain
full=$folder/full

if [[ ${3-} != inside ]]; then
  become_root=()
  ((EUID == 0)) || become_root=(-r)
  unshare "${become_root[@]}" -m true 2>/dev/null || { echo "skipped: no mount namespace"; exit 0; }
  exec unshare "${become_root[@]}" -m bash "$0" "$program" "$folder" inside
fi
mkdir "$full" && mount -t tmpfs -o size=64k tmpfs "$full" || { echo "skipped: no tmpfs"; exit 0; }
cd -- "$folder" || exit 1
export XDG_CACHE_HOME=$folder/cache

# fill KIB: leaves so much room.
fill() {
  rm -f "$full/filler"
  local room
  room=$(df --output=avail -k "$full" | tail -n 1)
  head -c $(((room - $1) * 1024)) /dev/zero >"$full/filler"
}

# expect_line WHAT STATUS: stderr is one line (progress aside) that names a path on the full disk and says what to do.
expect_line() {
  local lines named="not named: $(cat err)"
  lines=$(grep -c '^ww: ' err)
  ! grep -q "^ww: .*$full.*No space left on device; free space on that disk" err || named=named
  echo "$1: exit $2, $lines line, $named"
}

printf '{"calls": [{"tool": "write", "arguments": {"path": "kernels/a.cpp", "text": "%s"}}]}\n{"calls": [{"tool": "finish"}]}\n' \
  "$(printf '%08000d' 0)" >replies.jsonl
fill 4
"$program" optimize gelu_layernorm --model script:replies.jsonl --run "$full/run" >out 2>err
expect_line "optimize, run folder" $?
rm -rf "$full/run"
fill 12
"$program" optimize gelu_layernorm --model script:replies.jsonl --run "$full/run" >out 2>err
expect_line "optimize, later event" $?
rm "$full/filler"
"$program" optimize --resume "$full/run" >out 2>err
echo "resumed: exit $?"
rm -rf "$full/run"

fill 8
XDG_CACHE_HOME=$full/cache "$program" build "$solution" >out 2>err
expect_line "build, cache" $?
XDG_CACHE_HOME=$full/cache "$program" judge gelu_layernorm "$solution" --json >out 2>err
status=$?
outcome=$(grep -o '"outcome": "no_verdict"' out | head -n 1)
! grep -q "$full.*No space left on device" out || named=named
echo "judge, cache: exit $status, $(cut -d'"' -f4 <<<"$outcome"), ${named-not named: $(cat out err)}"
TMPDIR=$full "$program" build "$solution" >out 2>err
expect_line "build, temporary files" $?
rm "$full/filler"
XDG_CACHE_HOME=$full/cache "$program" build "$solution" >out 2>err
echo "built again: exit $?, $(find "$full/cache" -name solution.so | wc -l) artifact"
