#!/bin/sh
# Four load machines under Slurm: sbatch slurm.sh
# One task per node, all CPUs of it. srun sets SLURM_PROCID for each task, which --shard auto reads.
#SBATCH --job-name=prony
#SBATCH --nodes=4
#SBATCH --ntasks=4
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --time=02:00:00

set -eu
: "${EXPERIMENT:=quickstart.toml}"
: "${SERVER:=mysql://bench@db.example:3306/}"
# A folder that all nodes can write.
: "${RESULTS:=$SLURM_SUBMIT_DIR/results-$SLURM_JOB_ID}"

# A shard that cannot go on ends the job at once.
srun --kill-on-bad-exit=1 prony run "$EXPERIMENT" --server "$SERVER" --shard auto --results "$RESULTS"
prony merge "$RESULTS"/* --results "$RESULTS"
