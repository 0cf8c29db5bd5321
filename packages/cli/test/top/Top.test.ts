/** `atropos top` against a service in this process. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import * as StepMetrics from "@atropos/trainer/run/StepMetrics"
import { Effect } from "effect"
import { stripVTControlCharacters } from "node:util"
import * as InProcess from "../InProcess.ts"
import * as State from "../../src/top/State.ts"
import { step } from "../train/Steps.ts"

const post = (url: string, path: string, body: unknown) =>
  Effect.promise(async () => {
    const answer = await fetch(`${url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body)
    })
    assert.isBelow(answer.status, 300)
  })

const record = (url: string, source: string, number: number, values: object) =>
  post(url, "/v1/runs/default/metrics", { source, step: number, values })

describe("atropos top", () => {
  it.live("shows a run of a service, goes on with it, and ends with 0 when it is stopped", () =>
    Effect.gen(function* () {
      yield* InProcess.folder
      const service = yield* InProcess.start(["api", "--port", "0"])
      const [, url] = yield* service.says(/trajectory service at (http:\S+)/)
      const nothing = yield* InProcess.run(["top", "--api-url", url!])
      assert.deepStrictEqual(
        [nothing.code, nothing.stderr.trim()],
        [1, `atropos: the trajectory service at ${url} has no runs yet`]
      )
      const spec = { name: "default", batch_size: 8, max_token_length: 64, starting_step: 0, num_steps: 40 }
      const rest = { checkpoint_dir: "", save_checkpoint_interval: 1, wandb_group: "", wandb_project: "" }
      yield* post(url!, "/v1/runs", { ...spec, ...rest })
      yield* record(url!, "trainer", 7, StepMetrics.values(step(7, { rewardMean: 0.25 })))
      yield* record(url!, "letters", 7, { "eval/percent_correct": 0.5 })
      const once = yield* InProcess.run(["top", "--api-url", url!, "--once"])
      assert.strictEqual(once.code, 0)
      assert.match(
        once.stdout,
        /^default {2}step 7\/40 {2}reward 0\.250 \| entropy 0\.610 .*solved letters 50\.0% \(step 7\)$/m
      )
      const top = yield* InProcess.start(["top", "--api-url", url!])
      yield* top.says(/step 7\/40/)
      yield* record(url!, "trainer", 8, StepMetrics.values(step(8)))
      yield* top.says(/step 8\/40/)
      assert.strictEqual((yield* top.interrupt).code, 0)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it("has every figure of a step as the trainer told it", () => {
    const told = step(3, { skipped: "nonFinite", kl: 0.5, publishSeconds: 2 })
    const row = { id: "1", source: "trainer", step: 3, at: 0, values: StepMetrics.values(told) }
    const { batchId: _, ...read } = State.stepOf(row)!
    const { batchId: __, ...expected } = told
    assert.deepStrictEqual(read, expected)
  })

  it("judges a run by all that is recorded of it, by its environments too", () => {
    const state = State.make()
    const rows = Array.from({ length: 30 }, (_, index) => index + 1).flatMap((number) => [
      { id: `t${number}`, source: "trainer", step: number, at: 0, values: StepMetrics.values(step(number)) },
      {
        id: `m${number}`,
        source: "maze_0",
        step: number,
        at: 0,
        values: {
          "train/percent_identical": number < 5 ? 0.5 : 1,
          "train/solved_fraction": 0,
          "train/truncated_fraction": number < 5 ? 0 : 0.9,
          "train/completion_lengths": 10 * number
        }
      }
    ])
    state.update({
      // As far as it is looked at.
      run: { name: "r", numSteps: 40, currentStep: 30 } as State.Poll["run"],
      summary: {
        currentStep: 30,
        queuedGroups: 0,
        queuedSequences: 0,
        queuedBytes: 0,
        bufferedGroups: 0,
        formedBatches: 0,
        leasedBatches: 0,
        bound: null,
        stuck: []
      },
      environments: [],
      rows
    })
    const health = state.lines({ width: 300, colour: false }).find((line) => line.startsWith("health"))
    // That it is stuck follows from it.
    assert.match(health ?? "", /Answers truncated \(truncation\): .*maze_0/)
  })

  it("fits its terminal, and takes no commands from names", () => {
    const state = State.make()
    const run = { name: "r", numSteps: 10, currentStep: 3 } as State.Poll["run"]
    const environment = { name: "\u001b[2Jlong".repeat(20), connected: true, report: null }
    state.update({
      run,
      summary: {
        currentStep: 3,
        queuedGroups: 2,
        queuedSequences: 16,
        queuedBytes: 100,
        bufferedGroups: 0,
        formedBatches: 0,
        leasedBatches: 1,
        bound: { maxStaleness: 0, underWay: 12, startable: 0 },
        stuck: []
      },
      environments: [environment as State.Poll["environments"][number]],
      rows: []
    })
    for (const width of [20, 80]) {
      const lines = state.lines({ width, colour: false })
      assert.isTrue(lines.every((line) => line.length <= width && stripVTControlCharacters(line) === line))
    }
    assert.include(
      state.lines({ width: 160, colour: false }).join("\n"),
      "2 groups (16 sequences) waiting | 1 batch with a trainer | 12 sequences started, environments wait for the trainer (staleness 0)"
    )
  })
})
