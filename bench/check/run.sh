#!/usr/bin/env bash
# `prony check` of a file with 1,000 trials (2 servers x 125 levels x 4 blocks), and of the largest that is planned.
#
#   bench/check/run.sh target/release/prony > bench/results/check.md
#
# The goal: under 50 ms for the 1,000 trials. PRONY_HOME is empty, so no server is asked for its settings.
set -euo pipefail
prony=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# LEVELS BLOCKS FILE
write_experiment() {
    {
        printf 'title = "Many trials"\nquestion = "How long does check take?"\n'
        printf '[server.a]\nbuild = "mysql@5.6.14"\n[server.b]\nbuild = "mariadb"\n'
        for level in $(seq "$1"); do
            printf '[factor.pool."%s M"]\nsettings = { innodb_buffer_pool_size = "%sM" }\n' "$level" "$((level + 8))"
        done
        printf '[workload.ssb]\nscale = 0.1\n[protocol]\nrounds = ["cold", "hot"]\nblocks = %s\n' "$2"
    } > "$3"
}

# FILE -> the median of 21 runs in milliseconds, whole process
median_ms() {
    for _ in $(seq 21); do
        local began=$(date +%s%N)
        PRONY_HOME="$folder/home" "$prony" check "$1" > /dev/null
        echo $((($(date +%s%N) - began) / 1000))
    done | sort -n | sed -n 11p | sed -E 's/([0-9]{3})$/.\1/; s/^\./0./'
}

write_experiment 125 4 "$folder/thousand.toml"
write_experiment 500 100 "$folder/largest.toml"
echo "# prony check"
echo
echo "Made by \`bench/check/run.sh target/release/prony\` on $(date +%F), $(nproc) cores, load average $(cut -d' ' -f1 /proc/loadavg); whole processes, median of 21."
echo
echo "| file | ms |"
echo "| --- | --- |"
echo "| 1,000 trials | $(median_ms "$folder/thousand.toml") |"
echo "| 100,000 trials | $(median_ms "$folder/largest.toml") |"
