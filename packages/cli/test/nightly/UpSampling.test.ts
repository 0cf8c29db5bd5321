/** `atropos up` told how to sample: guessed tokens leave a run repeatable, answers may go on under new weights. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Waits from "../../../core/test/base/Waits.ts"
import * as InProcess from "../InProcess.ts"
import * as MetricsFile from "../MetricsFile.ts"

const steps = 3
const words = [
  "up",
  "--env",
  "sort-letters",
  "--batch-size",
  "16",
  "--seed",
  "3",
  "--env.evaluation_items",
  "4"
].concat(["--port", "0", "--policy_port", "0", "--threads", "1"])

/** What its answers earned, what was learned from them, and how old they were. */
const figures = (folder: string) =>
  Effect.map(MetricsFile.read(folder), (lines) =>
    lines.map((line) => [line["train/loss"], line["reward/mean"], line["staleness/max"]])
  )

const text = (url: string, body?: unknown) =>
  Effect.promise(async () => {
    const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) }
    return (await fetch(url, body === undefined ? {} : init)).text()
  })

describe("atropos up that is told how to sample", () => {
  it.live("repeats a run with guessed tokens to the bit, and goes on with no run that guessed otherwise", () =>
    Effect.gen(function* () {
      const cwd = yield* InProcess.folder
      const run = (...more: ReadonlyArray<string>) => InProcess.run([...words, "--steps", String(steps), ...more])
      const guessing = ["--speculative_tokens", "3"]
      const first = yield* run(...guessing)
      assert.strictEqual(first.code, 0, first.stderr)
      const again = yield* run(...guessing, "--fresh")
      assert.strictEqual(again.code, 0, again.stderr)
      const of = (run: number) => figures(`${cwd}/.atropos/up/sort-letters-${run}`)
      assert.lengthOf(yield* of(1), steps)
      assert.deepStrictEqual(yield* of(2), yield* of(1))
      const further = yield* InProcess.start([...words, "--steps", "500"])
      yield* further.says(/run sort-letters-3, checkpoints in/)
      yield* further.interrupt
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.live("lets answers go on under new weights, and guesses, where it runs ahead", () =>
    Effect.gen(function* () {
      const cwd = yield* InProcess.folder
      const flags = [
        "--steps",
        "500",
        "--steps_ahead",
        "1",
        "--weight-updates",
        "in-flight",
        "--speculative-tokens",
        "3"
      ]
      const up = yield* InProcess.start([...words, ...flags])
      const [, policy = ""] = yield* up.says(/policy at (http:\S+)\/v1/)
      const folder = `${cwd}/.atropos/up/sort-letters-1`
      const lines = Effect.orElseSucceed(MetricsFile.read(folder), () => [])
      yield* Waits.until(`${steps} steps`, lines, ({ length }) => length >= steps)
      const [, name] = /"id":"([^"]+)"/.exec(yield* text(`${policy}/v1/models`)) ?? assert.fail("it names no model")
      const answer = { model: name, prompt: "abababab", max_tokens: 4, temperature: 0, ignore_eos: true }
      yield* text(`${policy}/v1/completions`, answer)
      const [, guessed] = /^atropos_policy_guessed_tokens_total (\d+)$/m.exec(yield* text(`${policy}/metrics`)) ?? []
      assert.isAbove(Number(guessed), 0)
      for (const [, , stalest] of yield* figures(folder)) assert.isAtMost(Number(stalest), 1)
      yield* up.interrupt
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
