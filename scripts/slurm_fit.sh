#!/bin/sh
# slurm_fit.sh: a job for Slurm. sbatch --nodes=4 scripts/slurm_fit.sh fit body.glb --train range,walk --method joints -o body.pelt
# One rank on each node with all of its cores; the job may be requeued, and then goes on where it was.
#SBATCH --job-name=pelt
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --requeue
#SBATCH --open-mode=append

PELT=${PELT:-pelt-mpi}
SCRATCH=${SCRATCH:-${TMPDIR:-/var/tmp}} # on a disk of the node
threads=${SLURM_CPUS_ON_NODE:-1}
resume=
[ "$1" = fit ] || [ "$1" = flesh ] && resume=--resume
# All kinds of nodes round alike with the loops for AVX2.
export OPENBLAS_CORETYPE=${OPENBLAS_CORETYPE:-Haswell}
if [ -n "$SLURM_MEM_PER_NODE" ]; then memory="--memory $((SLURM_MEM_PER_NODE * 3 / 4))M"; fi
exec srun --cpu-bind=none --cpus-per-task="$threads" "$PELT" "$@" --threads "$threads" --scratch "$SCRATCH" $memory $resume
