#!/bin/sh
# Checks the PyTorch engine on a machine with NVIDIA GPUs, in about ten minutes, and prints the rows that are missing in
# "What was run, and what was not" of docs/engines.md. Never run on a GPU yet.
#
#   MODEL=./smollm2-135m PYTHON=~/.cache/atropos/torch/cuda-…/bin/python scripts/gpu-check.sh > gpu.txt
#
# MODEL: a folder with a small published model. PYTHON: torch for CUDA, transformers, peft (`atropos torch install`).
# VLLM: an executable, for the part with vLLM. TRL=1: PYTHON also has trl and datasets.
set -u
cd "$(dirname "$0")/.." || exit 1
MODEL=${MODEL:?a folder with a model}
PYTHON=${PYTHON:?a Python with torch for CUDA, transformers and peft}
NODE="node_modules/.bin/node --conditions=atropos-src"
export ATROPOS_TEST_PYTHON="$PYTHON" ATROPOS_ORIGINAL_PYTHON="$PYTHON" ATROPOS_TEST_MODELS="${ATROPOS_TEST_MODELS:-$(dirname "$MODEL")}"
GPUS=$(nvidia-smi --list-gpus | wc -l)

failed=0
# Runs a part within its time, and prints whether it passed.
part() {
  name=$1
  limit=$2
  shift 2
  printf '\n== %s (%s)\n' "$name" "$(date +%T)"
  if timeout "$limit" "$@"; then echo "passed: $name"; else
    echo "FAILED ($?): $name"
    failed=$((failed + 1))
  fi
}

nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader
PYTHONPATH=packages/trainer/python "$PYTHON" -m atropos_torch.report || exit 1

# Without TF32, whose products have 10 bits, float32 is held to the CPU's numbers.
part "float32 against the local engine on the CPU; bfloat16; halving at a full memory" 180 \
  env NVIDIA_TF32_OVERRIDE=0 npx vitest run packages/trainer/test/torch/TorchNumbers.test.ts
part "the contract" 90 npx vitest run packages/trainer/test/torch/TorchContract.test.ts
part "tokens a second, ours and plain PyTorch with PEFT (bfloat16)" 120 \
  $NODE bench/trainer/Torch.ts "$MODEL" dtype=auto count=64 shortest=256 steps=5 rounds=2
if [ "$GPUS" -ge 2 ]; then
  part "two GPUs, NCCL: DDP, FSDP2, copies between one and two" 240 \
    npx vitest run --config vitest.nightly.config.ts packages/trainer/test/nightly/TorchRanks.test.ts
else
  echo "not run: two GPUs (this machine has $GPUS)"
fi
if [ -n "${VLLM:-}" ]; then
  part "vLLM on the same GPU: three steps" 240 \
    $NODE packages/cli/src/main.ts up --env arithmetic-stories --engine torch --python "$PYTHON" --sampler vllm --vllm "$VLLM" \
    --model "$MODEL" --steps 3 --batch_size 16 --env.group_size 4 --env.max_token_length 64 --seq_len 512 --fresh --exit
else
  echo "not run: vLLM (VLLM names no executable)"
fi
if [ "${TRL:-}" = 1 ]; then
  part "tokens a second of TRL's GRPOTrainer" 120 "$PYTHON" bench/trainer/internal/trl_step.py "$MODEL"
else
  echo "not run: TRL (TRL=1 if PYTHON has it)"
fi
printf '\n%s parts failed\n' "$failed"
[ "$failed" -eq 0 ]
