import { assert, describe, it, layer } from "@effect/vitest"
import { Environment, ServerManager, Tokenizer } from "@atropos/core"
import { Addition, ItemSource, SortLetters } from "@atropos/envs"
import { Effect, Layer, Option, Schema, Stream } from "effect"

const scripted = (script: ReadonlyArray<string>) =>
  Layer.mergeAll(ServerManager.layerScripted(script), Tokenizer.layerBytes)

const labels = (environment: Environment.EnvironmentShape, cursor: number, count: number) =>
  environment.work(cursor).pipe(
    Stream.take(count),
    Stream.map(({ label }) => label),
    Stream.runCollect
  )

describe.each([
  ["sort-letters", SortLetters.layer({ groupSize: 2, seed: 3 })],
  ["addition", Addition.layer({ groupSize: 2, seed: 3 })]
] as const)("%s", (_name, environmentLayer) => {
  layer(environmentLayer.pipe(Layer.provide(scripted(["?", "!"]))))("as an environment", (it) => {
    it.effect("gives the same items from any cursor on, none of them held out", () =>
      Effect.gen(function* () {
        const environment = yield* Environment.Environment
        const all = yield* labels(environment, 0, 200)
        assert.deepStrictEqual(all.slice(150), yield* labels(environment, 150, 50))
        assert.isTrue(all.every((prompt) => !ItemSource.isHeldOut(prompt)))
      })
    )

    it.effect("evaluates on held-out prompts alone", () =>
      Effect.gen(function* () {
        const { evaluation } = yield* Environment.Environment
        const prompts = yield* Option.getOrThrow(evaluation).pipe(
          Stream.map(({ label }) => label),
          Stream.runCollect
        )
        assert.isAtLeast(prompts.length, 100)
        assert.isTrue(prompts.every(ItemSource.isHeldOut))
      })
    )

    it.effect("scores its gold answers 1 and its wrong ones 0", () =>
      Effect.gen(function* () {
        const claims = Option.getOrThrow((yield* Environment.Environment).claims)
        const items = yield* claims.items.pipe(Stream.take(20), Stream.runCollect)
        for (const { gold, score, wrong } of items) {
          assert.deepStrictEqual(
            yield* score(gold),
            gold.map(() => 1)
          )
          assert.deepStrictEqual(
            yield* score(wrong),
            wrong.map(() => 0)
          )
        }
      })
    )
  })
})

describe("Addition", () => {
  const environment = Addition.layer({ groupSize: 2, seed: 3 })
  it.effect("an answer cut off by the token limit earns nothing", () =>
    Effect.gen(function* () {
      const claims = Option.getOrThrow((yield* Environment.Environment).claims)
      const [item] = yield* claims.items.pipe(Stream.take(1), Stream.runCollect)
      const [{ completion } = { completion: "" }] = item!.gold
      const empty = { messages: [], tokens: new Int32Array(0), mask: new Uint8Array(0), completion }
      const scores = yield* item!.score([
        { ...empty, finishReason: "stop" },
        { ...empty, finishReason: "length" }
      ])
      assert.deepStrictEqual(scores, [1, 0])
    }).pipe(Effect.provide(environment.pipe(Layer.provide(scripted(["?"])))))
  )

  it.prop(
    "a demonstration is right but for carries",
    [Schema.Struct({ seed: Schema.Natural, index: Schema.Natural, digits: Schema.Literals([1, 2, 3]) })],
    ([given]) => {
      const { completion, prompt } = Addition.demonstration(given)
      const [left = 0, right = 0] = prompt.slice(0, -1).split("+").map(Number)
      const difference = Number(completion) - (left + right)
      // Each column is off by a carry too many or too few: at most 1 there, or 10 where it runs over.
      const columns = Array.from({ length: given.digits }, (_, place) => 10 ** place)
      assert.isAtMost(Math.abs(difference), 11 * columns.reduce((sum, column) => sum + column, 0))
      assert.isFalse(ItemSource.isHeldOut(prompt))
    }
  )
})

describe("SortLetters", () => {
  it.prop(
    "a demonstration has the word's own letters, and the known characters suffice",
    [Schema.Struct({ seed: Schema.Natural, index: Schema.Natural, letters: Schema.Literals([3, 4, 7]) })],
    ([given]) => {
      const options = { ...given, alphabetSize: 10 }
      const { completion, prompt } = SortLetters.demonstration(options)
      assert.deepStrictEqual(completion.split("").sort(), prompt.slice(0, -1).split("").sort())
      const known = new Set(SortLetters.characters(options))
      assert.isTrue(`${prompt}${completion}`.split("").every((character) => known.has(character)))
    }
  )

  it.effect("even the smallest settings leave prompts to train on and prompts to hold out", () =>
    Effect.gen(function* () {
      const { evaluation, work } = yield* Environment.Environment
      const seen = Stream.concat(work(0).pipe(Stream.take(50)), Option.getOrThrow(evaluation).pipe(Stream.take(50)))
      assert.strictEqual(yield* Stream.runCount(seen), 100)
    }).pipe(
      Effect.provide(
        SortLetters.layer({ letters: 3, alphabetSize: 5, evaluationItems: 50 }).pipe(Layer.provide(scripted(["?"])))
      )
    )
  )

  it.prop("one prompt in ten is held out", [Schema.Natural], ([seed]) => {
    const prompts = Array.from({ length: 400 }, (_, index) => `${seed}/${index}`)
    const share = prompts.filter(ItemSource.isHeldOut).length / prompts.length
    assert.isTrue(share > 0.03 && share < 0.2, `${share}`)
  })
})
