/**
 * `atropos up` on a real terminal: its board is drawn again and again in one place, its pages stay after the last step
 * until Ctrl-C, and do not with `--exit`. Elsewhere it ends by itself: `UpStopped.test.ts`.
 */
import { TrajectoryApi } from "@atropos/core"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { spawnSync } from "node:child_process"
import * as Atropos from "../crash/Atropos.ts"
import * as Screen from "../Screen.ts"

const decodePage = Schema.decodeUnknownEffect(Schema.toCodecJson(TrajectoryApi.EvaluationPage))
const decodeSamplePage = Schema.decodeUnknownEffect(Schema.toCodecJson(TrajectoryApi.EvaluationSamplePage))

/** Debian has it everywhere, macOS another one; where there is none, it says nothing. */
const hasTerminal = String(spawnSync("script", ["--version"]).stdout).includes("util-linux")

const terminal = { columns: 100, rows: 40 }
const ctrlC = "\u0003"

const json = (url: string) => Effect.promise(() => fetch(url).then((answer) => answer.json()))

const up = (cwd: string, steps: number, ...more: ReadonlyArray<string>) => {
  const small = "--batch-size 16 --env.group_size 4 --env.evaluation_items 4 --seed 3 --port 0 --policy_port 0"
  return Atropos.start(["up", "--steps", String(steps), ...small.split(" "), ...more], { cwd, terminal })
}

/** Of a run of so many steps, after everything: one board, of the last step, and below it the whole summary. */
const isWhole = (said: string, steps: number): void => {
  const lines = Screen.after(said, terminal)
  const begins = (word: string) => lines.filter((line) => line.startsWith(`${word}  `))
  for (const word of ["step", "reward", "policy", "time", "health"]) assert.lengthOf(begins(word), 1, said)
  const board = lines.findIndex((line) => line.startsWith("step  "))
  assert.match(lines[board]!, new RegExp(`^step {4}${steps}/${steps} █+ 100%$`))
  assert.match(lines[board + 1]!, /^reward {2}\d\.\d{3} [▁-█]+$/)
  assert.match(lines[board + 2]!, /^policy {2}solved \d+% \| /)
  // What is longer than a line goes on in the next.
  const time = lines.find((line) => line.startsWith("time  "))
  assert.match(time!, /^time {4}\d.* s a step \| .*sampling \d+%/)
  for (const title of ["run", "mean reward", "held-out items solved", "trained on", "checkpoints and metrics"]) {
    assert.isAbove(
      lines.findIndex((line) => line.startsWith(`${title}  `)),
      board,
      title
    )
  }
  assert.isAbove(lines.indexOf("next:"), board)
}

describe("atropos up, on a terminal", () => {
  it.live.skipIf(!hasTerminal)("draws its board in one place, and keeps its pages until Ctrl-C, or --exit", () =>
    Effect.gen(function* () {
      const cwd = yield* Atropos.folder
      const staying = yield* up(cwd, 3)
      const [, url = ""] = yield* staying.says(/viewer stays up at (http:\S+)\/ui; Ctrl-C to quit/)
      // The pages answer, with what was asked before and after the training, sample by sample.
      const page = yield* Effect.promise(() => fetch(`${url}/ui`).then((answer) => answer.text()))
      assert.include(page, "<title>")
      const { evaluations } = yield* decodePage(yield* json(`${url}/v1/evaluations?run=sort-letters-1`))
      assert.deepStrictEqual(
        evaluations.map(({ name, samples, step, stored }) => [name, step, samples, stored]),
        [
          ["sort-letters", 3, 4, 4],
          ["sort-letters", 0, 4, 4]
        ]
      )
      for (const { id } of evaluations) {
        const { samples } = yield* decodeSamplePage(yield* json(`${url}/v1/evaluations/${id}/samples`))
        assert.lengthOf(samples, 4)
        for (const { gold, tokens } of samples) {
          assert.lengthOf(gold, 1)
          assert.isAbove(tokens ?? 0, 0)
        }
      }
      staying.type(ctrlC)
      // Nothing was stopped that was still to do.
      const { code, out } = yield* staying.ended
      assert.strictEqual(code, 0, out)
      assert.notInclude(out, "stopped after step")
      // Before the first step, after it, and at the end; each in the place of the one before.
      assert.isAtLeast(out.split(/\[\d+A.\[J/).length, 3)
      isWhole(out, 3)

      const leaving = yield* up(cwd, 4, "--exit")
      const ended = yield* leaving.ended
      assert.strictEqual(ended.code, 0, ended.out)
      assert.include(ended.out, "resuming sort-letters-1 after 3 of 4 steps")
      assert.notInclude(ended.out, "viewer stays up")
      isWhole(ended.out, 4)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
