/** What saved files say of scores: groups, samples of evaluations, and chats without any. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, it } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import * as SavedScores from "../../src/evaluate/SavedScores.ts"

const messages = [
  { role: "user", content: "2 + 2?" },
  { role: "assistant", content: "4" }
]

it.effect("counts samples of evaluations by their score, and only chats without one as unscored", () =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const file = `${yield* fs.makeTempDirectoryScoped()}/saved.jsonl`
    const sample = (item: number, score: number) => ({
      item,
      label: "a",
      score,
      correct: score === 1,
      rewards: { right: score },
      completion: "4",
      finish_reason: "stop",
      tokens: 3,
      messages
    })
    const lines = [sample(0, 1), sample(1, 0), { scores: [0.25, 0.75], messages: [messages, messages] }, { messages }]
    yield* fs.writeFileString(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""))
    const { faults, rewards, score, sessions, unscored } = yield* SavedScores.read([file])
    assert.deepStrictEqual([sessions, unscored, faults], [3, 1, 0])
    assert.deepInclude(score, { count: 3, mean: 0.5, lowest: 0, highest: 1 })
    assert.deepInclude(rewards["right"], { count: 2, mean: 0.5 })
  }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
)
