/** Credit for single turns, from an environment's score over the wire to the advantages that a loss reads. */
import { Dataset, Environment, Message, ServerManager, Tokenizer, ToolCalls } from "@atropos/core"
import * as PackedGroup from "@atropos/core/service/PackedGroup"
import { ToolUse } from "@atropos/envs"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option, Result, Stream } from "effect"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import * as Sandbox from "@atropos/envs/sandbox/Sandbox"
import * as TrainingSequence from "../../trainer/src/learn/TrainingSequence.ts"

const file = fileURLToPath(new URL("../../envs/test/fixtures/dialogues.jsonl", import.meta.url))
/** A dialogue of two turns with calls. */
const row: unknown = JSON.parse(readFileSync(file, "utf8").split("\n")[0]!)

const call = (name: string, args: unknown) => ToolCalls.writeCall({ name, arguments: args })
const prices = call("price", { thing: "pear" }) + call("price", { thing: "plum" })

/** Both turns right, the first alone, none. */
const episodes = [
  [`A: ${prices}`, call("add", { numbers: [6, 2] })],
  [`B: ${prices}`, "They cost 8."],
  ["C: They cost 8."]
] as const

const group = (outcomeWeight: number) =>
  Effect.gen(function* () {
    let begun = 0
    const script: ServerManager.Script = (request) => {
      const said = ("messages" in request ? request.messages : []).find(({ role }) => role === "assistant")
      if (said === undefined) return episodes[begun++]![0]
      return Message.text(said).startsWith("A") ? episodes[0][1] : episodes[1][1]
    }
    return yield* Effect.gen(function* () {
      const { groups } = yield* Environment.Environment
      return Option.getOrThrow(yield* Stream.runHead(groups))
    }).pipe(
      Effect.provide(
        ToolUse.layer({ source: "rows", testSource: "rows", groupSize: 3, maxTokenLength: 20_000, outcomeWeight }).pipe(
          Layer.provide([
            ServerManager.layerScripted(script),
            Dataset.layerMemory({ rows: [row] }),
            Tokenizer.layerBytes,
            Sandbox.layerWasi()
          ])
        )
      )
    )
  })

/** What each trained span of a sequence weighs; a span has one advantage, and nothing else has any. */
const spans = ({ advantages, mask }: TrainingSequence.TrainingSequence): ReadonlyArray<number> => {
  const found: Array<number> = []
  for (let t = 0; t < mask.length; t++) {
    if (mask[t] === 0) assert.strictEqual(advantages[t], 0)
    else if (t === 0 || mask[t - 1] === 0) found.push(advantages[t]!)
    else assert.strictEqual(advantages[t], found.at(-1))
  }
  return found
}

const settings: Parameters<typeof TrainingSequence.ofGroups>[1] = {
  baseline: "group",
  advantageScale: "population-std",
  isPolicyGradient: true,
  maskTruncated: false,
  dropConstantGroups: true,
  needsPairs: false
}

const standardized = (values: ReadonlyArray<number>): ReadonlyArray<number> => {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  const deviation = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length)
  return values.map((value) => (value - mean) / deviation)
}

describe("the credit of a turn", () => {
  it.live("reaches the tokens of its answer in the trainer, beside the outcome's", () =>
    Effect.gen(function* () {
      for (const outcomeWeight of [0, 0.5]) {
        const scored = yield* group(outcomeWeight)
        // As it comes out of the service.
        const delivered = Result.getOrThrow(PackedGroup.decode(PackedGroup.encode(scored)))
        const { sequences } = TrainingSequence.ofGroups([delivered], settings)
        const outcome = standardized([1, 1 / 3, 0]).map((one) => outcomeWeight * one)
        const first = standardized([1, 1, 0])
        // The one that has ended counts 0 there.
        const second = standardized([1, 0, 0])
        const expected = [
          [first[0]! + outcome[0]!, second[0]! + outcome[0]!],
          [first[1]! + outcome[1]!, second[1]! + outcome[1]!],
          [first[2]! + outcome[2]!]
        ]
        assert.deepStrictEqual(
          sequences.map((sequence) => spans(sequence).map((one) => one.toFixed(5))),
          expected.map((turns) => turns.map((one) => one.toFixed(5)))
        )
        assert.deepStrictEqual(delivered.rewards, [
          { calls: 1, complete: 1 },
          { calls: 2 / 3, complete: 0 },
          { calls: 0, complete: 0 }
        ])
      }
    })
  )
})
