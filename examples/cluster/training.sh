#!/usr/bin/env bash
# Service, environment and trainer, on the first node of the job. They talk over loopback, so the service needs no tokens.
set -euo pipefail
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT

# Where the trainer sends new weights: the servers that `--slurm` finds.
weights=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | tail -n "+$((NUM_TRAINING_NODES + 1))" | while read -r node; do
  for ((server = 0; server < 8 / INFER_TP; server++)); do printf '"%s+http://%s:%s",' "$SERVER" "$node" $((9000 + server)); done
done)
targets="[${weights%,}]"

node_modules/.bin/atropos api --port 8000 &
node_modules/.bin/atropos serve --env "$ENV_NAME" --slurm --openai.model_name "$MODEL" --openai.adapter_prefix policy- \
  --env.tokenizer_name "$MODEL" --env.total_steps "$STEPS" --env.rollout_server_url http://localhost:8000 ${SERVE_FLAGS:-} &
node_modules/.bin/atropos train --model "$MODEL" --atropos-url http://localhost:8000 --steps "$STEPS" \
  --save-path "${SAVE_PATH:-checkpoints}" --weight-sync "$targets" --on_stale wait --max_staleness 1 ${TRAIN_FLAGS:-} &
trainer=$!
trap 'kill -TERM "$trainer" 2>/dev/null || true' TERM
status=0
while kill -0 "$trainer" 2>/dev/null; do wait "$trainer" && status=0 || status=$?; done
exit "$status"
