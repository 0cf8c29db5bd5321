#!/usr/bin/env bash
# The inference servers of one node: 8 / INFER_TP of them, on the ports that `--slurm` looks for. Ends when one of them does.
set -euo pipefail
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
trap 'exit 143' TERM

for ((server = 0; server < 8 / INFER_TP; server++)); do
  port=$((9000 + server))
  gpus=$(seq -s, $((server * INFER_TP)) $((server * INFER_TP + INFER_TP - 1)))
  case $SERVER in
    vllm)
      CUDA_VISIBLE_DEVICES=$gpus VLLM_ALLOW_RUNTIME_LORA_UPDATING=True vllm serve "$MODEL" --host 0.0.0.0 --port "$port" \
        --tensor-parallel-size "$INFER_TP" --generation-config vllm --logprobs-mode processed_logprobs \
        --enable-lora --max-lora-rank 32 --max-loras 4 & ;;
    policy)
      # Our own engine, on the CPU: for small models, and to try the scripts without a GPU.
      ATROPOS_ALLOWED_HOSTS=$SLURMD_NODENAME node_modules/.bin/atropos policy --model "$MODEL" --lora.r 16 \
        --host 0.0.0.0 --port "$port" --allow-insecure & ;;
    *) echo "SERVER is $SERVER: vllm or policy" >&2; exit 2 ;;
  esac
done
wait -n
