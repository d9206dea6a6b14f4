#!/bin/bash
# prony's SSB generator against the C one, in alternation: the peer on one core, prony on one core, prony on two cores.
#
#     bench/datagen/run.sh PEER PRONY FOLDER [SCALE] [ROUNDS] > bench/results/datagen.csv
#
# PEER is the reader's own build of the C ssb-dbgen (see README.md beside this file), with its dists.dss in the same folder.
# FOLDER takes the files; a tmpfs such as /dev/shm keeps the disk out of the figures. Prints one CSV line for each process, and the
# medians and ratios on stderr.
set -euo pipefail

peer=$(realpath "$1") prony=$(realpath "$2") folder=$(realpath "$3") scale=${4:-1} rounds=${5:-5}
work=$(mktemp -d "$folder/prony-bench.XXXXXX")
raw=$(mktemp)
trap 'rm -rf "$work" "$raw"' EXIT

# measure NAME COMMAND...: elapsed and CPU seconds and the largest resident set, of a command that writes into the empty work folder.
measure() {
    local name=$1
    shift
    rm -rf "${work:?}"/*
    /usr/bin/time -o "$work/time" -f '%e %U %S %M' "$@" > "$work/out" 2> "$work/err" || { cat "$work/err" >&2; exit 1; }
    read -r elapsed user system rss < "$work/time"
    local rows
    rows=$(cat "$work"/*.tbl | wc -l)
    echo "$name,$round,$scale,$rows,$elapsed,$user,$system,$rss" | tee -a "$raw"
}

echo "what,round,scale,rows,elapsed_s,user_s,system_s,rss_max_kb"
for round in $(seq "$rounds"); do
    measure peer env DSS_CONFIG="$(dirname "$peer")" DSS_PATH="$work" taskset -c 0 "$peer" -q -f -s "$scale" -T a
    measure prony-1-core taskset -c 0 "$prony" data ssb --scale "$scale" --out "$work"
    measure prony-2-cores taskset -c 0,1 "$prony" data ssb --scale "$scale" --out "$work"
done

# median COLUMN NAME
median() {
    awk -F, -v name="$2" -v column="$1" '$1 == name { print column == "cpu" ? $6 + $7 : $column }' "$raw" | sort -g |
        awk '{ value[NR] = $1 } END { print (value[int((NR + 1) / 2)] + value[int(NR / 2) + 1]) / 2 }'
}
for name in peer prony-1-core prony-2-cores; do
    echo "$name: elapsed $(median 5 $name) s, CPU $(median cpu $name) s, peak $(median 8 $name) KB"
done >&2
awk -v p="$(median 5 peer)" -v o="$(median 5 prony-1-core)" -v t="$(median 5 prony-2-cores)" -v pc="$(median cpu peer)" -v oc="$(median cpu prony-1-core)" \
    'BEGIN { printf "peer / prony on one core: elapsed %.1f, CPU %.1f; one core / two cores: elapsed %.2f\n", p / o, pc / oc, o / t }' >&2
