#!/bin/sh
# A task of an array, by its arguments PYTHON DEVICES JOB...
# SIGTERM ends a worker after its epoch. Slurm sends it to all processes of a task, and requeues
# what is pre-empted; a task out of time requeues itself; the study submits what else is missing.
python=$1 devices=$2
shift "$((2 + SLURM_ARRAY_TASK_ID))"
again=
trap : TERM
trap 'again=yes; kill $!' USR2
"$python" -m jaxeval.launchers.worker "$devices" "$1" &
while ! wait $! && kill -0 $!; do :; done 2>/dev/null
test -z "$again" || scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
