#!/bin/sh
# Transfers the state of one node of Galera to another one on the same machine. The servers start it, on both sides.
set -eu
role= address= data= position= is_bypassed=
# The server, if it does not say.
parent=$PPID
while [ $# -gt 0 ]; do
    case $1 in
        --role) role=$2; shift ;;
        --address) address=$2; shift ;;
        --datadir) data=$2; shift ;;
        --gtid) position=$2; shift ;;
        --parent) parent=$2; shift ;;
        --bypass) is_bypassed=1 ;;
    esac
    shift
done
meeting=$PRONY_TRANSFERS/$(printf %s "$address" | tr -c 'A-Za-z0-9.' _)
# What belongs to one node.
own='! -name grastate.dat ! -name gvwstate.dat ! -name galera.cache ! -name auto.cnf ! -name tables_flushed'

# Waits for a file, as long as the server is there: one that was killed would leave this behind.
await() {
    until [ -s "$1" ]; do
        kill -0 "$parent" 2> /dev/null || exit 1
        sleep 0.02
    done
}

case $role in
    joiner)
        rm -f "$meeting"
        printf '%s\n' "$data" > "$meeting.new"
        mv "$meeting.new" "$meeting.folder"
        echo "ready $address"
        await "$meeting"
        cat "$meeting"
        ;;
    donor)
        if [ -z "$is_bypassed" ]; then
            to=$(cat "$meeting.folder")
            # A transfer that failed has left its own.
            rm -f "$data/tables_flushed"
            # The server stops writing and says up to where it has written.
            echo "flush tables"
            await "$data/tables_flushed"
            position=$(cat "$data/tables_flushed")
            # shellcheck disable=SC2086
            find "$to" -mindepth 1 -maxdepth 1 $own -exec rm -rf {} +
            # With "+" and not ";", so that find fails if cp does.
            # shellcheck disable=SC2086
            (cd "$data" && find . -mindepth 1 -maxdepth 1 $own -exec cp -a --reflink=auto -t "$to" {} +)
            rm -f "$data/tables_flushed"
            echo continue
        fi
        printf '%s\n' "$position" > "$meeting.position"
        mv "$meeting.position" "$meeting"
        echo "done $position"
        ;;
esac
