import { assert, describe, it, layer } from "@effect/vitest"
import { Dataset, Environment, Laws, ServerManager, Tokenizer } from "@atropos/core"
import { TextReversal } from "@atropos/envs"
import { Effect, Layer, Schema, Stream } from "effect"
import { likeness, reversed } from "../src/reversal/Items.ts"
import { claimsHold, firstScores, itemsHold, labels, lawsHold } from "./TestItems.ts"

const tables = { rows: [{ text: "ab 👋🏽c" }], long: [{ text: "ab".repeat(6_000) }, { text: "live" }] }

const environment = (settings: Parameters<typeof TextReversal.layer>[0], script: ServerManager.Script = ["?"]) =>
  TextReversal.layer({ groupSize: 2, seed: 3, ...settings }).pipe(
    Layer.provide(ServerManager.layerScripted(script)),
    Layer.provide([Tokenizer.layerBytes, Dataset.layerMemory(tables)])
  )

describe.each([
  ["a chat", environment({})],
  ["a chat, by shares", environment({ scoring: "share" })],
  ["a few letters", environment({ promptStyle: "compact" })]
] as const)("TextReversal as %s", (_name, made) => {
  layer(made)("", (it) => {
    it.effect("gives the same items from any cursor on, none of them held out", () => itemsHold)
    it.effect("holds for each of thirty items what is claimed of it", () => claimsHold(30))
    it.effect.prop("scores follow the laws of scoring", [Laws.arbitraryGroup()], ([group]) => lawsHold(group), {
      arbitrary: { runs: 30 }
    })
  })
})

describe("TextReversal's rows", () => {
  const answers = [
    "<think>so</think><reversed_text>c🏽👋 ba</reversed_text>",
    "<think>so</think>Here:\n<reversed_text>\nc🏽👋 ba\n</reversed_text>",
    "<reversed_text>c🏽👋 ba</reversed_text>",
    "<think><reversed_text>c🏽👋 ba</reversed_text></think>",
    "<think>so</think><reversed_text>c🏽👋 b</reversed_text>"
  ]
  const rows = { source: "rows", testSource: "rows", groupSize: answers.length }

  it.effect("are reversed by code points, in exactly one block after exactly one think block", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* firstScores, [1, 1, 0, 0, 0])
    }).pipe(Effect.provide(environment(rows, answers)))
  )

  it.effect("tell the parts of a score, and weigh them where weights are given", () =>
    Effect.gen(function* () {
      const { groups } = yield* Environment.Environment
      const [group] = yield* groups.pipe(Stream.take(1), Stream.runCollect)
      assert.deepStrictEqual(group!.rewards?.[0], { format: 1, correct: 1, similarity: 1 })
      assert.deepStrictEqual(group!.rewards?.[2], { format: 0, correct: 0, similarity: 0 })
      assert.strictEqual(group!.rewards?.[4]?.["correct"], 0)
      assert.closeTo(group!.rewards?.[4]?.["similarity"] ?? 0, 5 / 6, 1e-9)
      assert.strictEqual(group!.scores[0], 2.5)
      // The similarity counts where it is given a weight, and not by itself.
      assert.strictEqual(group!.scores[4], 0.5)
    }).pipe(Effect.provide(environment({ ...rows, rewardWeights: { correct: 2, format: 0.5 } }, answers)))
  )

  it.effect("that are too long are left out", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* labels(0, 1), ["live="])
    }).pipe(Effect.provide(environment({ source: "long", testSource: "rows" })))
  )
})

describe("reversal", () => {
  it.prop("undoes itself, and is like itself alone", [Schema.String, Schema.String], ([text, other]) => {
    if (text.isWellFormed()) assert.strictEqual(reversed(reversed(text)), text)
    assert.strictEqual(likeness(text, text), 1)
    const between = likeness(text, other)
    assert.isTrue(between >= 0 && between <= 1)
    if (Array.from(text).join() !== Array.from(other).join()) assert.isBelow(between, 1)
  })
})
