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
  it.live("letter-counting starts near chance and earns more within 12 steps", () =>
    Effect.gen(function* () {
      const cwd = yield* Bin.folder
      const words = [
        "up",
        "--env",
        "letter-counting",
        "--seed",
        "1",
        "--steps",
        "12",
        "--lr",
        "2e-3",
        "--batch-size",
        "256"
      ]
      const { code, stderr } = yield* Bin.run([...words, "--threads", "1", "--port", "0", "--policy_port", "0"], {
        cwd
      })
      assert.strictEqual(code, 0, stderr)
      const fs = yield* FileSystem.FileSystem
      const text = yield* fs.readFileString(`${cwd}/.atropos/up/letter-counting-1/metrics.jsonl`)
      const lines = yield* Effect.forEach(text.trim().split("\n"), (line) => decodeLine(line))
      const rewards = lines.map((line) => line["reward/mean"])
      assert.strictEqual(rewards.length, 12)
      // Right by chance: 0.25.
      assert.isBelow(mean(rewards.slice(0, 4)), 0.45)
      // Seeds 1 to 3 on one thread: 0.29 to 0.38, 0.28 to 0.33, 0.39 to 0.45.
      assert.isAbove(mean(rewards.slice(-6)), mean(rewards.slice(0, 4)) + 0.02)
    }).pipe(Effect.provide(NodeServices.layer))
  )
})
