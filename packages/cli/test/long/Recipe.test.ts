/** What follows a recipe's demonstrations earns more. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Schema } from "effect"
import * as Bin from "../Bin.ts"

const Line = Schema.fromJsonString(Schema.Struct({ "reward/mean": Schema.Finite }))
const decodeLine = Schema.decodeUnknownEffect(Line)

const mean = (rewards: ReadonlyArray<number>): number =>
  rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length

describe("recipes", () => {
  it.live("letter-counting starts near chance and earns more within 80 small steps", () =>
    Effect.gen(function* () {
      const cwd = yield* Bin.folder
      const words = ["up", "--env", "letter-counting", "--seed", "1", "--steps", "80", "--batch-size", "256"]
      const { code, stderr } = yield* Bin.run([...words, "--port", "0", "--policy_port", "0"], { cwd })
      assert.strictEqual(code, 0, stderr)
      const fs = yield* FileSystem.FileSystem
      const text = yield* fs.readFileString(`${cwd}/.atropos/up/letter-counting-1/metrics.jsonl`)
      const lines = yield* Effect.forEach(text.trim().split("\n"), (line) => decodeLine(line))
      const rewards = lines.map((line) => line["reward/mean"])
      assert.strictEqual(rewards.length, 80)
      // Right by chance: 0.25.
      assert.isBelow(mean(rewards.slice(0, 4)), 0.33)
      assert.isAbove(mean(rewards.slice(-10)), mean(rewards.slice(0, 4)) + 0.06)
    }).pipe(Effect.provide(NodeServices.layer))
  )
})
