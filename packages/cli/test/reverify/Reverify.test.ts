import * as NodeServices from "@effect/platform-node/NodeServices"
import { Environment, EnvironmentSettings, SavedGroup, ServerManager } from "@atropos/core"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Option, Path, Result, Stream, Struct } from "effect"
import * as Items from "../../src/reverify/Items.ts"
import type { Outcome } from "../../src/reverify/Outcome.ts"
import * as Reverify from "../../src/reverify/Reverify.ts"

/** Says the word that is asked for, or not; the grader of the day says what that is worth. */
const words = (right: number, live?: string) =>
  Environment.layer("words", Environment.settings(EnvironmentSettings.commonFields), () =>
    Effect.map(ServerManager.ServerManager, (servers) => ({
      items: (cursor: number) => Stream.fromIterable(["one", "two", "three", "three "].slice(cursor)),
      collectTrajectories: (word: string) =>
        servers.chat({ messages: [{ role: "user", content: `Say ${word.trim()}` }], n: 2 }),
      score: (word: string, group: ReadonlyArray<{ readonly completion: string }>) =>
        Effect.succeed(
          group.map(({ completion }) => ({ rewards: { said: completion === word.trim() ? right : 0, polite: 0.5 } }))
        ),
      isCorrect: (score: number) => score > 0.5,
      ...(live !== undefined && { cannotRescore: live })
    }))
  )()

/** Groups as they were rolled out and judged when a right word was worth 1. */
const saved = Effect.gen(function* () {
  const environment = yield* Environment.Environment
  return yield* Stream.runCollect(environment.groups)
}).pipe(Effect.provide(words(1)), Effect.provide(ServerManager.layerScripted(["one", "no", "two", "no", "no", "no"])))

const reverified = Effect.fnUntraced(function* (file: string, environment: ReturnType<typeof words>, write?: string) {
  const listener = Items.promptCapture()
  const outcomes: Array<Outcome> = []
  const result = yield* Reverify.run(
    {
      file,
      write: Option.fromUndefinedOr(write),
      items: 100,
      workers: 4,
      onOutcome: (outcome) => Effect.sync(() => void outcomes.push(outcome)),
      onFault: () => Effect.void
    },
    listener
  ).pipe(Effect.provide(environment), Effect.provide(ServerManager.layerScripted(listener.script)))
  return { outcomes, result }
})

const tags = ({ outcomes }: { readonly outcomes: ReadonlyArray<Outcome> }) => outcomes.map(({ _tag }) => _tag)

layer(NodeServices.layer)("Reverify", (it) => {
  const fileOf = Effect.fnUntraced(function* (lines: ReadonlyArray<string>, separator = "\n") {
    const fs = yield* FileSystem.FileSystem
    const folder = yield* fs.makeTempDirectoryScoped()
    const file = (yield* Path.Path).join(folder, "groups.jsonl")
    yield* fs.writeFileString(file, lines.map((line) => line + separator).join(""))
    return file
  })

  it.effect("finds the items by their ids and gives them today's scores, what did not change byte for byte", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const lines = (yield* saved).map(SavedGroup.encode)
      const spaced = lines.map((line) => line.replace('"scores":', '"own": "ü", "scores" : '))
      const file = yield* fileOf([spaced[2]!, "no group", spaced[0]!], "\r\n")
      const same = yield* reverified(file, words(1))
      assert.deepStrictEqual(tags(same), ["Same", "Same"])
      assert.strictEqual(same.result.faults, 1)
      const changed = yield* reverified(file, words(3), `${file}.new`)
      assert.deepStrictEqual(tags(changed), ["Same", "Changed"])
      const [, outcome] = changed.outcomes
      assert.deepInclude(outcome, { line: 3, before: [1.5, 0.5], after: [3.5, 0.5], label: "one" })
      assert.deepInclude(outcome, {
        components: {
          said: [
            [1, 0],
            [3, 0]
          ]
        }
      })
      const before = yield* fs.readFileString(file)
      const after = yield* fs.readFileString(`${file}.new`)
      const expected = before.replace('"scores" : [1.5,0.5]', '"scores" : [3.5,0.5]')
      assert.strictEqual(after.replaceAll(/"overrides":\[.*?\]/g, ""), expected.replaceAll(/"overrides":\[.*?\]/g, ""))
      const last = SavedGroup.parse(after.split("\r\n")[2]!)
      assert.deepStrictEqual(Result.getOrThrow(last).group.rewards, [
        { said: 3, polite: 0.5 },
        { said: 0, polite: 0.5 }
      ])
      assert.deepStrictEqual(tags(yield* reverified(`${file}.new`, words(3))), ["Same", "Same"])
      const again = yield* Effect.flip(reverified(file, words(3), `${file}.new`))
      assert.match(String(again), /already exists/)
    })
  )

  it.effect("finds an item without an id by what it asks, and none where two ask the same or nothing does", () =>
    Effect.gen(function* () {
      const [one, two, three] = (yield* saved).map((group) => SavedGroup.encode(Struct.omit(group, ["itemId"])))
      const other = two!.replaceAll("Say two", "Say four")
      const { outcomes, result } = yield* reverified(yield* fileOf([two!, three!, other, one!]), words(1))
      assert.deepStrictEqual(tags({ outcomes }), ["Same", "Unscored", "Unscored", "Same"])
      assert.match((outcomes[1] as { readonly reason: string }).reason, /several items have its prompt/)
      assert.match((outcomes[2] as { readonly reason: string }).reason, /not among the 4/)
      assert.strictEqual(result.byQuestion, 2)
    })
  )

  it.effect("scores nothing whose score needs more than its words, and says why", () =>
    Effect.gen(function* () {
      const lines = (yield* saved).map(SavedGroup.encode)
      const { outcomes } = yield* reverified(yield* fileOf(lines), words(1, "the world is gone"))
      assert.isAbove(outcomes.length, 0)
      for (const outcome of outcomes) assert.deepInclude(outcome, { _tag: "Unscored", reason: "the world is gone" })
    })
  )

  it.effect("scores the samples of an evaluation, with what they say beside", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const [group] = yield* saved
      const sample = (index: number, score: number) =>
        JSON.stringify({
          item: 0,
          id: group!.itemId,
          score,
          correct: score > 0,
          completion: index === 0 ? "one" : "no",
          finish_reason: "stop",
          tokens: 3,
          messages: group!.messages![index]
        })
      const file = yield* fileOf([sample(0, 0), sample(1, 0.5)])
      const { outcomes } = yield* reverified(file, words(1), `${file}.new`)
      assert.lengthOf(outcomes, 1)
      assert.deepInclude(outcomes[0], { _tag: "Changed", line: 1, before: [0, 0.5], after: [1.5, 0.5] })
      const [first] = (yield* fs.readFileString(`${file}.new`)).split("\n")
      assert.deepInclude(JSON.parse(first!), {
        score: 1.5,
        correct: true,
        rewards: { said: 1, polite: 0.5 },
        tokens: 3
      })
    })
  )
})
