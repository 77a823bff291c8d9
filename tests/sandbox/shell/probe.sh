# SPDX-License-Identifier: Apache-2.0
#
# probe.sh NAME: what takes no program to try. Exit status as in ../probe.h.
out=0 stopped=10 untriable=20
cd -- "$WW_WORK" || exit $untriable

got_out() { if "$@" 2>/dev/null; then exit $out; else exit $stopped; fi; }
need() { command -v "$1" >/dev/null || { echo "no $1"; exit $untriable; }; }

case $1 in
zip_bomb) # 128 KiB that unpack to 128 MiB
  need gzip
  if [ ! -e bomb.gz ]; then head -c 134217728 /dev/zero | gzip -9 >bomb.gz || exit $untriable; fi
  got_out sh -c 'gzip -dc bomb.gz >unpacked'
  ;;
sparse_archive)
  need tar
  truncate -s 12M sparse && tar -cSf sparse.tar sparse || exit $untriable
  for copy in 1 2 3 4 5 6 7 8; do
    mkdir -p "$copy" && tar -xf sparse.tar -C "$copy" && cat "$copy/sparse" >>whole 2>/dev/null || exit $stopped
  done
  exit $out
  ;;
compile_secret)
  need g++
  printf '#include "%s"\n' "$WW_SECRET" >reads.cpp
  # What the compiler complains about shows the file's text.
  g++ -fsyntax-only reads.cpp >said 2>&1
  got_out grep -q 'the secret of the host\|secret.*does not name a type' said
  ;;
assemble_secret)
  need g++
  printf 'asm(".incbin \\"%s\\"");\n' "$WW_SECRET" >reads.cpp
  got_out sh -c 'g++ -c reads.cpp -o reads.o && grep -q secret reads.o'
  ;;
debug_process)
  need gdb
  got_out sh -c 'gdb -p "$WW_VICTIM" -batch 2>&1 | grep -q "^\[Inferior"'
  ;;
list_processes) got_out sh -c 'ls /proc | grep -qx "$WW_VICTIM"' ;;
become_root_by_su) got_out sh -c 'su root -c true </dev/null' ;;
download)
  need python3
  got_out python3 -c "import socket, os; socket.create_connection(('127.0.0.1', int(os.environ['WW_PORT'])), 2)"
  ;;
git_template_hook)
  need git
  # A hook that git would copy into whatever repository is made next.
  got_out sh -c 'dir=$(git --exec-path)/../../share/git-core/templates/hooks && [ -w "$dir" ]'
  ;;
python_site_file)
  need python3
  got_out python3 -c 'import os, site, sys; sys.exit(not any(os.access(p, os.W_OK) for p in site.getsitepackages() if os.path.isdir(p)))'
  ;;
odd_name_of_secret) # whoever normalises names may think that this is a name in the work folder
  for name in ".//..//..//..//..//..$WW_SECRET" "./../../../../../../$WW_SECRET" "$WW_WORK/../../../../../..$WW_SECRET"; do
    if cat -- "$name" >/dev/null 2>&1; then exit $out; fi
  done
  exit $stopped
  ;;
*) exit 2 ;;
esac
