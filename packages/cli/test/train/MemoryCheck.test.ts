/** What a run takes of memory, known from the model's configuration: what fits, and what is said of what does not. */
import * as ModelConfig from "../../../trainer/src/model/ModelConfig.ts"
import * as TrainerSettings from "@atropos/trainer/run/TrainerSettings"
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import * as MemoryCheck from "../../src/train/MemoryCheck.ts"
import * as HalfModel from "./HalfModel.ts"

const gigabyte = 2 ** 30

const qwen = (hidden: number, layers: number, intermediate: number, heads: number) =>
  Result.getOrThrow(
    ModelConfig.parse({
      ...HalfModel.file,
      hidden_size: hidden,
      num_hidden_layers: layers,
      num_attention_heads: heads,
      intermediate_size: intermediate
    })
  )

/** The shapes of Qwen2.5. */
const half = Result.getOrThrow(ModelConfig.parse(HalfModel.file))
const three = qwen(2048, 36, 11_008, 16)

const settingsOf = (trainer: Partial<TrainerSettings.TrainerFields>) => TrainerSettings.complete({ trainer })

describe("the room that a run takes", () => {
  it("says what would fit of what does not", () => {
    const long = settingsOf({ seqLen: 32_768 })
    assert.isUndefined(MemoryCheck.problem(half, long, "cpu", 16 * gigabyte))
    assert.include(MemoryCheck.problem(half, long, "cpu", 14 * gigabyte), "--seq_len 16384 (12.4 GB)")
    assert.isUndefined(
      MemoryCheck.problem(half, settingsOf({ seqLen: 16_384, quantize: "int4" }), "cpu", 12 * gigabyte)
    )
    const problem = MemoryCheck.problem(three, long, "cpu", 16 * gigabyte)!
    assert.include(problem, "this machine has 17.2 GB")
    assert.match(problem, /--quantize int4.* \(\d+\.\d GB\).* would fit$/)
    assert.match(MemoryCheck.problem(three, long, "cpu", gigabyte)!, /a smaller model would fit$/)
  })

  it("counts only sampling where PyTorch trains", () => {
    const torch = settingsOf({ engine: "torch", seqLen: 32_768 })
    assert.isUndefined(MemoryCheck.problem(half, torch, "cpu", 7 * gigabyte))
    const problem = MemoryCheck.problem(three, torch, "cpu", 16 * gigabyte)!
    assert.include(problem, "as sampler takes")
    assert.notMatch(problem, /training|--quantize|seq_len/)
    const { caches, training } = MemoryCheck.needs(half, torch, "cpu", 16 * gigabyte)
    assert.deepStrictEqual([training, caches > 0], [0, true])
    assert.strictEqual(MemoryCheck.growth(half, torch, "cpu", { batchSize: 8, length: 512, tried: 64 }, false), 0)
  })

  it("advises nothing that would be refused in its turn", () => {
    const settings = settingsOf({ seqLen: 8192 })
    for (let memory = gigabyte; memory <= 32 * gigabyte; memory += gigabyte) {
      const problem = MemoryCheck.problem(three, settings, "cpu", memory)
      for (const [, kind] of problem?.matchAll(/--quantize (int8|int4) \(/g) ?? []) {
        const changed = settingsOf({ seqLen: 8192, quantize: kind === "int8" ? "int8" : "int4" })
        assert.isUndefined(MemoryCheck.problem(three, changed, "cpu", memory))
      }
    }
  })

  const sizes = { seqLen: Schema.Int.check(Schema.isBetween({ minimum: 1024, maximum: 32_768 })) }
  it.prop("grows with rows, and shrinks with the bits of weights", sizes, ({ seqLen }) => {
    const all = (trainer: Partial<TrainerSettings.TrainerFields>) =>
      MemoryCheck.needs(half, settingsOf(trainer), "cpu", 16 * gigabyte).all
    assert.isBelow(all({ seqLen, quantize: "int8" }), all({ seqLen }))
    assert.isBelow(all({ seqLen, quantize: "int4" }), all({ seqLen, quantize: "int8" }))
    assert.isAtMost(all({ seqLen: Math.ceil(seqLen / 2), tokenBudget: 32_768 }), all({ seqLen, tokenBudget: 32_768 }))
  })

  const bounds = {
    memory: Schema.Finite.check(Schema.isBetween({ minimum: 1, maximum: 32 })),
    seqLen: Schema.Int.check(Schema.isBetween({ minimum: 512, maximum: 32_768 })),
    remat: Schema.Literals(["auto", "none", "elements", "parts"]),
    isSampled: Schema.Boolean
  }
  it.prop("keeps to the memory it is given, or is refused", bounds, ({ isSampled, memory, remat, seqLen }) => {
    const settings = settingsOf({ memory, remat, seqLen })
    const bytes = MemoryCheck.memoryOf(settings.trainer, "cpu")
    assert.strictEqual(bytes, memory * gigabyte)
    const { all } = MemoryCheck.needs(half, settings, "cpu", bytes, isSampled)
    assert.strictEqual(MemoryCheck.problem(half, settings, "cpu", bytes, isSampled) === undefined, all <= bytes)
  })

  it("names what would fit where more is kept than there is room for", () => {
    const problem = MemoryCheck.problem(half, settingsOf({ memory: 8, remat: "none", seqLen: 2048 }), "cpu")!
    assert.include(problem, "memory allows 8.6 GB")
    assert.match(problem, /; --remat parts \(\d\.\d GB\)/)
    assert.isUndefined(MemoryCheck.problem(half, settingsOf({ memory: 8, remat: "parts", seqLen: 2048 }), "cpu"))
    const alone = MemoryCheck.problem(half, settingsOf({ memory: 2 }), "cpu", 2 * gigabyte, false)!
    assert.notInclude(alone, "sampling")
  })

  it("leaves caches what they usually take, and less of less memory", () => {
    assert.deepStrictEqual(MemoryCheck.caches(32 * gigabyte), { kvMemoryMegabytes: 2048, prefixCacheMegabytes: 512 })
    assert.deepStrictEqual(MemoryCheck.caches(4 * gigabyte), { kvMemoryMegabytes: 512, prefixCacheMegabytes: 128 })
  })
})
