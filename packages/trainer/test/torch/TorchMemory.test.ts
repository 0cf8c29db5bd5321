import { assert, describe, it } from "@effect/vitest"
import * as TorchMemory from "../../src/torch/TorchMemory.ts"

/** SmolLM2-135M. */
const small: TorchMemory.Sizes = {
  parameters: 134_515_008,
  hiddenSize: 576,
  layers: 30,
  intermediateSize: 1536,
  vocabSize: 49_152
}
const plain = { trained: 4_884_480, isHalf: false, recomputes: false, hasReference: false, shards: 1 }

describe("the memory that PyTorch needs", () => {
  it("is about what was measured of SmolLM2-135M", () => {
    const gibibytes = (recomputes: boolean) => TorchMemory.peak(small, { ...plain, recomputes }, 620) / 2 ** 30
    assert.approximately(gibibytes(false), 2.7, 0.3)
    assert.approximately(gibibytes(true), 1.9, 0.3)
  })

  it("is that of values, gradients and moments in float32 for all weights, a second model for a reference, a share if sharded", () => {
    const all = { ...plain, trained: "all" } as const
    assert.strictEqual(TorchMemory.held(small, all), 16 * small.parameters)
    assert.strictEqual(TorchMemory.held(small, { ...all, hasReference: true }), 20 * small.parameters)
    assert.strictEqual(TorchMemory.held(small, { ...all, shards: 4 }), 4 * small.parameters)
    assert.strictEqual(TorchMemory.held(small, { ...plain, isHalf: true, trained: 0 }), 2 * small.parameters)
  })

  it("is refused only where weights alone exceed the device, with what would need less", () => {
    const large = { ...small, parameters: 70e9 }
    const gpu = { memory: 80e9, processes: 1 }
    assert.match(
      TorchMemory.problem(large, { ...plain, isHalf: true }, gpu) ?? "",
      /weights take 140\.\d GB, and the device has 80\.0 GB: more GPUs with --parallel fsdp or a smaller model/
    )
    assert.isUndefined(TorchMemory.problem(large, { ...plain, isHalf: true, shards: 4 }, gpu))
    assert.include(
      TorchMemory.problem({ ...small, parameters: 8e9 }, { ...plain, trained: "all" }, gpu),
      "--trains adapter"
    )
    // On the CPU all processes share the memory.
    assert.isUndefined(TorchMemory.problem(small, plain, { memory: 1e9, processes: 1 }))
    assert.isDefined(TorchMemory.problem(small, plain, { memory: 1e9, processes: 2 }))
  })
})
