#!/bin/sh
# Load machines under Open MPI or MPICH: sh mpi.sh. HOSTFILE lists the machines, one a line; without it all processes are on this one.
# mpirun sets OMPI_COMM_WORLD_RANK or PMI_RANK for each process, which --shard auto reads. prony does not use MPI itself.

set -eu
: "${SHARDS:=4}"
: "${EXPERIMENT:=quickstart.toml}"
: "${SERVER:=mysql://bench@db.example:3306/}"
: "${RESULTS:=$PWD/results}"

# The variables of a batch job around this script are not those of its processes.
unset SLURM_PROCID SLURM_NTASKS
# MPIRUN_OPTIONS: --oversubscribe for more processes than cores, --allow-run-as-root in a container.
# shellcheck disable=SC2086
mpirun ${MPIRUN_OPTIONS:-} ${HOSTFILE:+--hostfile "$HOSTFILE"} -n "$SHARDS" \
    prony run "$EXPERIMENT" --server "$SERVER" --shard auto --results "$RESULTS"
prony merge "$RESULTS"/* --results "$RESULTS"
