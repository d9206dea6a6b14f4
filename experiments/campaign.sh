#!/usr/bin/env bash
# Runs the experiments that answer the published claims (docs/REPLICATION.md), in parts of at most 48 minutes. Call it again until it says
# that nothing is left; each call resumes where the last one ended, however it ended.
#
#     experiments/campaign.sh RESULTS [MINUTES] [LIST]
#
# A line of LIST is a name and the arguments of `prony run`. A part ends with an interrupt, which loses only the trial in progress, so a trial
# has to be shorter than a part. RESULTS/NAME holds the run, RESULTS/NAME.done says that it has ended. PRONY is the binary.
set -u
results=${1:?give a folder for the runs}
deadline=$((SECONDS + 60 * ${2:-48}))
prony=${PRONY:-prony}
list=${3:-"$(dirname "$0")/campaign.txt"}
mkdir -p "$results" || exit 2

left=0
while IFS= read -r line <&3; do
    [[ $line =~ ^[[:space:]]*(#|$) ]] && continue
    eval "words=($line)"
    name=${words[0]}
    [[ -e $results/$name.done ]] && continue
    seconds=$((deadline - SECONDS))
    if ((seconds < 1)); then
        echo "left: $name"
        left=$((left + 1))
        continue
    fi
    order=("${words[@]:1}")
    compgen -G "$results/$name/*/run.sqlite" >/dev/null && order=(--resume @latest)
    mkdir -p "$results/$name" || exit 2
    timeout --foreground --signal=INT "$seconds" "$prony" run "${order[@]}" --results "$results/$name"
    status=$?
    case $status in
        # 3: a query failed, which the record says.
        0 | 3) touch "$results/$name.done" ;;
        124)
            echo "left: $name, begun"
            left=$((left + 1))
            ;;
        *)
            echo "$name ended with status $status; mend the cause, and call this again" >&2
            exit "$status"
            ;;
    esac
done 3<"$list" || exit 2
if ((left > 0)); then
    echo "$left left; call this again"
else
    echo "nothing left"
fi
