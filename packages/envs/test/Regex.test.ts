import { assert, describe, it, layer } from "@effect/vitest"
import { Dataset, Laws, SeededRandom, ServerManager, Tokenizer } from "@atropos/core"
import { Regex } from "@atropos/envs"
import { Effect, Layer, Schema } from "effect"
import * as Waits from "../../core/test/base/Waits.ts"
import * as Languages from "../src/regex/Languages.ts"
import * as RegexVerifier from "../src/regex/RegexVerifier.ts"
import { claimsHold, firstScores, itemsHold, labels, lawsHold } from "./TestItems.ts"

const tables = {
  rows: [
    { description: "is one or more letters a", accept: ["a", "aa", "aaa", "aaaa"], reject: ["b", "ab", "ba", "aab"] }
  ],
  both: [
    { description: "is a", accept: ["a"], reject: ["a"] },
    { description: "is b", accept: ["b"], reject: ["c"] }
  ]
}

const environment = (settings: Parameters<typeof Regex.layer>[0], script: ServerManager.Script = ["?"]) =>
  Regex.layer({ groupSize: 2, seed: 3, ...settings }).pipe(
    Layer.provide(ServerManager.layerScripted(script)),
    Layer.provide([Tokenizer.layerBytes, Dataset.layerMemory(tables)])
  )

const live = { excludeTestServices: true }

layer(environment({}), live)("Regex", (it) => {
  it.effect("gives the same items from any cursor on, none of them held out", () => itemsHold)
  it.effect("holds for each of thirty items what is claimed of it", () => claimsHold(30))
  it.effect.prop("scores follow the laws of scoring", [Laws.arbitraryGroup()], ([group]) => lawsHold(group), {
    arbitrary: { runs: 10 }
  })
})

describe("Regex's rows", () => {
  const answers = ["a+", "a{1,2}", ".*", "/a+/u", "("].map((pattern) => `<answer>${pattern}</answer>`)
  const rows = { source: "rows", testSource: "rows", groupSize: answers.length }

  it.live("are decided by all their texts, shown or not", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* firstScores, [1, 0, 0, 1, 0])
    }).pipe(Effect.provide(environment({ ...rows, shown: 2 }, answers)))
  )

  it.live("give shares of both sides, of which everything is worth nothing", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* firstScores, [1, 0.5, 0, 1, 0])
    }).pipe(Effect.provide(environment({ ...rows, scoring: "share" }, answers)))
  )

  it.effect("with a text on both sides are left out", () =>
    Effect.gen(function* () {
      const [label] = yield* labels(0, 1)
      assert.include(label, "is b")
    }).pipe(Effect.provide(environment({ source: "both", testSource: "rows", shown: 0 })))
  )
})

describe("RegexVerifier", () => {
  it.live("ends expressions that backtrack without end, and goes on", () =>
    Effect.gen(function* () {
      const attempt = yield* RegexVerifier.make({ deadline: "300 millis", workers: 1 })
      for (const pattern of ["(a+)+b", "(a|a)*b", "(.*)*x", `${"(a?)".repeat(40)}${"a".repeat(40)}b`]) {
        const verdict = yield* attempt(pattern, [`${"a".repeat(60)}c`])
        assert.strictEqual(verdict._tag, "invalid", pattern)
      }
      assert.strictEqual((yield* attempt("a".repeat(1_001), ["a"]))._tag, "invalid")
      // Its thread is a new one, which may take longer to start than the deadline.
      const tried = yield* Waits.until("a verdict", attempt("a+", ["aa", "ab"]), ({ _tag }) => _tag === "tried")
      assert.deepStrictEqual(tried, { _tag: "tried", matches: [true, false] })
    }).pipe(Effect.scoped)
  )

  it.live("takes an expression for a whole one: no brackets of the policy's close ours", () =>
    Effect.gen(function* () {
      const attempt = yield* RegexVerifier.make()
      assert.strictEqual((yield* attempt("a)|(?:b", ["b"]))._tag, "invalid")
      assert.deepStrictEqual(yield* attempt("a|b", ["b", "ab"]), { _tag: "tried", matches: [true, false] })
    }).pipe(Effect.scoped)
  )
})

describe("languages", () => {
  it.prop("hold the texts that are drawn of them, and none of those near by", [Schema.Natural], ([index]) => {
    const random = SeededRandom.seeded(1, index)
    const language = Languages.draw(random)
    const { accepted, rejected } = Languages.texts(language, random, 12)
    const whole = new RegExp(`^(?:${language.pattern})$`, "u")
    assert.isAbove(accepted.length, 3, language.description)
    assert.isAbove(rejected.length, 3, language.description)
    assert.isTrue(
      accepted.every((text) => whole.test(text)),
      language.description
    )
    assert.isFalse(
      rejected.some((text) => whole.test(text)),
      language.description
    )
  })
})
