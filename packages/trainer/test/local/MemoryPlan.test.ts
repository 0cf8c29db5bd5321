import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as MemoryPlan from "../../src/local/MemoryPlan.ts"

const shape = {
  vocabSize: 16_384,
  hiddenSize: 768,
  intermediateSize: 2304,
  layers: 12,
  heads: 12,
  kvHeads: 4,
  headDim: 64,
  hasTiedHead: true
}
const workload: MemoryPlan.Workload = { shape, tokens: 1024, rowLength: 256 }
const gigabyte = 2 ** 30

describe("MemoryPlan", () => {
  it("computes nothing again where all activations take little", () => {
    const tiny = { ...shape, vocabSize: 13, hiddenSize: 64, intermediateSize: 128, layers: 2, heads: 4, headDim: 16 }
    assert.deepStrictEqual(MemoryPlan.choose({ shape: tiny, tokens: 1536, rowLength: 32 }, "cpu", gigabyte), {
      remat: false,
      attention: "rows",
      feedForwardChunks: 1,
      chunks: 1,
      headRows: undefined,
      prepack: true
    })
  })

  it("computes cheap things again where memory is there, whole parts where it is not", () => {
    assert.strictEqual(MemoryPlan.choose(workload, "cpu", 16 * gigabyte).remat, "elements")
    assert.strictEqual(MemoryPlan.choose(workload, "cpu", 0.5 * gigabyte).remat, "parts")
  })

  it("rearranges weights for the CPU where a copy of them is a small part of the memory", () => {
    const weights = MemoryPlan.weightBytes(shape)
    assert.approximately(weights / 4e6, 95, 1)
    const enough = 64 * weights
    assert.isTrue(MemoryPlan.choose(workload, "cpu", enough).prepack)
    assert.isFalse(MemoryPlan.choose(workload, "cpu", enough - 1).prepack)
    assert.isFalse(MemoryPlan.choose(workload, "webgpu", enough).prepack)
  })

  it("counts the weights of all experts, and the activations of those that a token passes", () => {
    const layer = { window: undefined, rope: 0, isDelta: false, isMixture: true }
    const mixture = {
      experts: 16,
      perToken: 2,
      intermediateSize: 768,
      isNormed: true
    } as const
    const mixed = { ...shape, mixture, layerTraits: Array.from({ length: shape.layers }, () => layer) }
    const experts = 4 * shape.hiddenSize * shape.layers * 3 * (16 * 768 - shape.intermediateSize)
    assert.strictEqual(MemoryPlan.weightBytes(mixed) - MemoryPlan.weightBytes(shape), experts)
    const activations = (of: typeof shape) => MemoryPlan.activationBytes({ ...workload, shape: of }, "elements", "rows")
    assert.isBelow(activations(mixed), activations(shape))
  })

  it("has more room for activations under weights in fewer bits, and rearranges none of these", () => {
    const rounded = { bytes: MemoryPlan.weightBytes(shape) / 4, largest: shape.hiddenSize * shape.intermediateSize }
    const memory = 2 * (MemoryPlan.weightBytes(shape) + MemoryPlan.activationBytes(workload, "elements", "rows")) - 1
    assert.strictEqual(MemoryPlan.choose(workload, "cpu", memory).remat, "parts")
    assert.strictEqual(MemoryPlan.choose({ ...workload, rounded }, "cpu", memory).remat, "elements")
    assert.isFalse(MemoryPlan.choose({ ...workload, rounded }, "cpu", 64 * gigabyte).prepack)
  })

  it("computes attention in blocks where rows are long, so that memory grows with the row and not with its square", () => {
    const planOf = (rowLength: number, device: "cpu" | "webgpu" = "cpu") =>
      MemoryPlan.choose({ ...workload, tokens: rowLength, rowLength }, device, 16 * gigabyte).attention
    assert.deepStrictEqual([planOf(256), planOf(1024)], ["rows", "blocks"])
    // 4 bytes of 12 heads: beyond 1672 positions squared, more than a shader is sure to see.
    assert.deepStrictEqual([planOf(1672, "webgpu"), planOf(1673, "webgpu")], ["rows", "blocks"])
    const bytes = (rowLength: number) =>
      MemoryPlan.activationBytes({ ...workload, tokens: rowLength, rowLength }, "parts", "blocks")
    assert.isBelow(bytes(32_768) / bytes(8192), 4.1)
  })

  it("takes less memory the more is computed again", () => {
    const [parts, elements, nothing] = (["parts", "elements", false] as const).map((remat) =>
      MemoryPlan.activationBytes(workload, remat, "rows")
    )
    assert.isBelow(parts!, elements!)
    assert.isBelow(elements!, nothing!)
  })

  it("estimates what the ways differ by as it was measured: 300 and 540 MB at 100M parameters", () => {
    const bytes = (remat: MemoryPlan.Plan["remat"]) => MemoryPlan.activationBytes(workload, remat, "rows") / 1e6
    assert.approximately(bytes("elements") - bytes("parts"), 300, 60)
    assert.approximately(bytes(false) - bytes("elements"), 540, 120)
  })

  it("computes again what it is told to", () => {
    for (const remat of [false, "elements", "parts"] as const) {
      assert.strictEqual(MemoryPlan.choose(workload, "cpu", 16 * gigabyte, remat).remat, remat)
    }
    assert.isTrue(MemoryPlan.choose(workload, "cpu", 64 * gigabyte, "parts").prepack)
  })

  const sizes = {
    megabytes: Schema.Int.check(Schema.isBetween({ minimum: 64, maximum: 16_384 })),
    tokens: Schema.Int.check(Schema.isBetween({ minimum: 256, maximum: 8192 })),
    vocabSize: Schema.Int.check(Schema.isBetween({ minimum: 100, maximum: 160_000 }))
  }
  it.prop(
    "takes no more than half of its memory, or as little as there is",
    sizes,
    ({ megabytes, tokens, vocabSize }) => {
      const own = { shape: { ...shape, vocabSize }, tokens, rowLength: 256 }
      const memory = megabytes * 2 ** 20
      const plan = MemoryPlan.choose(own, "cpu", memory)
      const isLeast = plan.remat === "parts" && !plan.prepack
      assert.isTrue(isLeast || MemoryPlan.peakBytes(own, plan, 0) <= memory / 2, JSON.stringify(plan))
    }
  )

  it("cuts logits in a loop on the CPU, where there are several chunks", () => {
    assert.strictEqual(MemoryPlan.choose(workload, "cpu", 16 * gigabyte).headRows, 256)
    assert.isUndefined(MemoryPlan.choose(workload, "webgpu", 16 * gigabyte).headRows)
    assert.isUndefined(MemoryPlan.choose({ ...workload, tokens: 64 }, "cpu", 16 * gigabyte).headRows)
  })

  it("cuts logits into chunks of at most 16 MiB, none shorter than 128 positions, no more than 64", () => {
    assert.strictEqual(MemoryPlan.chunks(workload), 4)
    assert.strictEqual(MemoryPlan.chunks({ ...workload, tokens: 64 }), 1)
    const large = { ...shape, vocabSize: 151_936 }
    assert.strictEqual(MemoryPlan.chunks({ shape: large, tokens: 1024, rowLength: 1024 }), 8)
    assert.strictEqual(MemoryPlan.chunks({ shape: large, tokens: 65_536, rowLength: 2048 }), 64)
  })

  it("gives a CPU the tokens at once that its cores compute best, and fewer where memory is short", () => {
    const of = (cores: number, more: Partial<MemoryPlan.Workload> = {}, memory = 64 * gigabyte) =>
      MemoryPlan.tokensFor({ ...workload, ...more }, "cpu", memory, cores)
    assert.deepStrictEqual(
      [2, 8, 64].map((cores) => of(cores)),
      [512, 2048, 8192]
    )
    const little = { ...shape, hiddenSize: 64, intermediateSize: 128, layers: 2, heads: 4, headDim: 16 }
    assert.strictEqual(of(2, { shape: little }), 8192)
    const rounded = { bytes: MemoryPlan.weightBytes(shape) / 4, largest: shape.hiddenSize * shape.intermediateSize }
    assert.strictEqual(of(2, { rounded }), 2048)
    assert.strictEqual(of(64, {}, gigabyte), 1024)
    assert.strictEqual(MemoryPlan.tokensFor(workload, "webgpu", 64 * gigabyte, 2), 8192)
  })

  it("does not depend on the longest row allowed", () => {
    assert.strictEqual(MemoryPlan.tokensFor({ shape, rowLength: 32_768 }, "cpu", 64 * gigabyte, 2), 512)
  })

  it("has rows that hold a prompt once for several short sequences on the CPU, and for pairs on GPUs", () => {
    const lengths = [80, 300, 900, 4096]
    assert.deepStrictEqual(
      lengths.map((length) => MemoryPlan.rowLengthFor(length, "cpu", false)),
      [256, 600, 1024, 4096]
    )
    assert.deepStrictEqual(
      lengths.map((length) => MemoryPlan.rowLengthFor(length, "webgpu", false)),
      lengths
    )
    assert.deepStrictEqual(
      lengths.map((length) => MemoryPlan.rowLengthFor(length, "webgpu", true)),
      [160, 600, 1800, 8192]
    )
  })
})
