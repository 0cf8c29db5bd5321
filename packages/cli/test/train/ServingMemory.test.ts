/** What a served model takes of memory: what fits, what is said of what does not, and sizes of caches. */
import * as ModelConfig from "../../../trainer/src/model/ModelConfig.ts"
import { assert, describe, it } from "@effect/vitest"
import { Option, Result, Schema } from "effect"
import * as ServingMemory from "../../src/train/ServingMemory.ts"
import * as HalfModel from "./HalfModel.ts"

const gigabyte = 2 ** 30

/** The shape of Qwen2.5-0.5B. */
const half = Result.getOrThrow(ModelConfig.parse(HalfModel.file))

const none = {
  memory: Option.none<number>(),
  kvMemoryMegabytes: Option.none<number>(),
  prefixCacheMegabytes: Option.none<number>()
}

const serving = (memory: number, more: Partial<ServingMemory.Serving> = {}): ServingMemory.Serving => ({
  ...ServingMemory.choose({ ...none, memory: Option.some(memory) }, "cpu"),
  device: "cpu",
  quantize: "none",
  maxRows: 128,
  separator: "-",
  ...more
})
const training = { tokenBudget: 8192, maxRank: 32 }
const problem = (memory: number, more?: Partial<ServingMemory.Serving>) =>
  ServingMemory.problem("half", half, serving(memory, more))

describe("the room that a served model takes", () => {
  it("gives caches what their flags say, else what the memory suggests", () => {
    assert.deepStrictEqual(serving(4).caches, { kvMemoryMegabytes: 512, prefixCacheMegabytes: 128 })
    assert.deepStrictEqual(serving(64).caches, { kvMemoryMegabytes: 2048, prefixCacheMegabytes: 512 })
    const given = { memory: Option.some(4), kvMemoryMegabytes: Option.some(3000), prefixCacheMegabytes: Option.some(0) }
    const { caches } = ServingMemory.choose(given, "cpu")
    assert.deepStrictEqual(caches, { kvMemoryMegabytes: 3000, prefixCacheMegabytes: 0 })
    assert.isFalse(ServingMemory.choose(none, "cpu").isMemoryTold)
  })

  it("says what would fit of what does not, in the flags of the command", () => {
    assert.isUndefined(problem(16))
    assert.match(
      problem(3.5)!,
      /half takes 3\.\d GB, and memory allows 3\.8 GB: weights for sampling 2\.0 GB, embeddings 0\.5 GB, .*--quantize int8/
    )
    assert.match(problem(3.5)!, /; --kv-memory-megabytes 64 --prefix-cache-megabytes 0 \(\d\.\d GB\), or /)
    assert.match(problem(1)!, /a smaller model would fit$/)
    const caches = { kvMemoryMegabytes: 6000, prefixCacheMegabytes: 0 }
    assert.include(problem(8, { caches })!, "; --kv-memory-megabytes 1024 --prefix-cache-megabytes 256 (")
    assert.include(problem(8, { training, separator: "_" })!, "training of one adapter")
    assert.match(problem(7, { training, separator: "_" })!, /--token_budget \d+( --kv_memory_megabytes 64)?/)
    assert.notInclude(problem(7, { training })!, "--quantize")
    assert.isUndefined(problem(1, { device: "cuda" }))
  })

  const bounds = {
    memory: Schema.Finite.check(Schema.isBetween({ minimum: 1, maximum: 16 })),
    quantize: Schema.Literals(["none", "int8", "int4"]),
    isTrained: Schema.Boolean
  }
  it.prop("keeps to the memory it is given, or is refused", bounds, ({ isTrained, memory, quantize }) => {
    const given = serving(memory, isTrained ? { training } : { quantize })
    const { all } = ServingMemory.needs(half, given)
    assert.strictEqual(ServingMemory.problem("half", half, given) === undefined, all <= memory * gigabyte)
  })

  it("advises nothing that would be refused in its turn", () => {
    for (let memory = 1; memory <= 10; memory += 0.5) {
      for (const [, kind] of problem(memory)?.matchAll(/--quantize (int8|int4) \(/g) ?? []) {
        assert.isUndefined(problem(memory, { quantize: kind === "int8" ? "int8" : "int4" }))
      }
      const told = problem(memory, { training, separator: "_" })
      for (const [, tokens] of told?.matchAll(/--token_budget (\d+) \(/g) ?? []) {
        assert.isUndefined(problem(memory, { training: { ...training, tokenBudget: Number(tokens) } }))
      }
    }
  })
})
