import * as TrainerSettings from "@atropos/trainer/run/TrainerSettings"
import type { Usage } from "@atropos/trainer/torch/TorchEngine"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as TorchPlan from "../../src/train/TorchPlan.ts"

const outline = {
  name: "model",
  config: {
    vocabSize: 49_152,
    hiddenSize: 576,
    maxPositions: 2048,
    layers: 30,
    intermediateSize: 1536,
    parameters: 134_515_008
  }
}
const usage: Usage = {
  device: "cpu",
  memory: null,
  ranks: 1,
  torch: "2.13.0",
  loaded: { dtype: "float32", trained: 4_884_480, recomputes: false, isPacked: false },
  positions: 4096,
  peaks: [2e9]
}
const settings = TrainerSettings.complete({ trainer: { engine: "torch", batchSize: 64, seqLen: 1025 } })

const text = (used: Usage, tokens = 512) =>
  Effect.map(TorchPlan.describe(Effect.succeed(used), outline, settings)({ tokens, seconds: 1 }), (lines) =>
    [...lines.model, ...lines.computing].map((line) => line.join(" ")).join("\n")
  )

describe("the plan's lines about PyTorch", () => {
  it.effect("have the model, what a trial took, and what full micro-batches will take", () =>
    Effect.gen(function* () {
      const found = yield* text(usage)
      assert.include(found, "model model, 134,515,008 parameters")
      assert.match(found, /trained an adapter of rank \d+: 4,884,480 parameters, learning rate/)
      assert.include(found, "engine PyTorch 2.13.0 in a process on the CPU, float32")
      // 4,096 - 512 more positions of 4 bytes x (30 x (4 x 1,536 + 10 x 576) + 2 x 576).
      const more = (4 * 3584 * (30 * (4 * 1536 + 10 * 576) + 2 * 576)) / 1e9
      assert.match(
        found,
        new RegExp(`2\\.0 GB of \\d+\\.\\d GB in a trial, about ${(2 + more).toFixed(1)} GB at the peak`)
      )
      assert.include(found, "up to 4,096 positions (token_budget), no recomputation (remat)")
      assert.notInclude(found, "not run")
      assert.include(yield* text(usage, 65_536), "about 2.0 GB at the peak")
    })
  )

  it.effect("state that no GPU was tried, and that memory will be full", () =>
    Effect.gen(function* () {
      const gpu = { ...usage, device: "NVIDIA H100", memory: 4e9, ranks: 2, peaks: [2e9, 3e9] }
      const found = yield* text(gpu)
      assert.include(found, "in 2 processes on NVIDIA H100")
      assert.include(found, "of PyTorch each: 3.0 GB of 4.0 GB in a trial")
      assert.include(found, "micro-batches will be halved when memory is full")
      assert.match(found, /not run before this release on any GPU/)
    })
  )
})
