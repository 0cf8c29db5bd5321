/** The bundled model learns: the first steps of the curves in docs/training.md, alone and with a tool. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Schema } from "effect"
import { fileURLToPath } from "node:url"
import * as Bin from "../Bin.ts"

const Line = Schema.fromJsonString(Schema.Struct({ "reward/mean": Schema.Finite }))
const decodeLine = Schema.decodeUnknownEffect(Line)
const example = (name: string) => fileURLToPath(new URL(`../../../../examples/${name}`, import.meta.url))

const mean = (rewards: ReadonlyArray<number>): number =>
  rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length

/** The rewards of a run's steps. */
const rewardsOf = Effect.fnUntraced(function* (name: string, ...words: ReadonlyArray<string>) {
  const cwd = yield* Bin.folder
  const always = ["--port", "0", "--policy_port", "0", "--seed", "1", "--env.evaluation_items", "2", "--threads", "1"]
  const { code, stderr, stdout } = yield* Bin.run(["up", ...words, ...always], { cwd })
  assert.strictEqual(code, 0, stdout + stderr)
  const fs = yield* FileSystem.FileSystem
  const text = yield* fs.readFileString(`${cwd}/.atropos/up/${name}-1/metrics.jsonl`)
  const lines = yield* Effect.forEach(text.trim().split("\n"), (line) => decodeLine(line))
  return lines.map((line) => line["reward/mean"])
})

describe("the bundled model", () => {
  it.live("earns more for arithmetic stories within 16 steps", () =>
    Effect.gen(function* () {
      const words = ["--env", "arithmetic-stories", "--model", "bundled", "--schedule", "constant", "--steps", "16"]
      const rewards = yield* rewardsOf("arithmetic-stories", ...words)
      assert.strictEqual(rewards.length, 16)
      // Seeds 1 to 3 on one thread: 0.09 to 0.20, 0.09 to 0.22, 0.06 to 0.25.
      assert.isAbove(mean(rewards.slice(-5)), mean(rewards.slice(0, 5)) + 0.03, rewards.join(" "))
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("calls a calculator through the gateway, in turns that are trained on", () =>
    Effect.gen(function* () {
      const words = ["--config", example("19-calculator-agent.yaml"), "--env", example("19-calculator-agent.ts")]
      const rewards = yield* rewardsOf("calculator-stories", ...words, "--batch_size", "8", "--steps", "1")
      assert.strictEqual(rewards.length, 1)
    }).pipe(Effect.provide(NodeServices.layer))
  )
})
