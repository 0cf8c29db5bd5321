/** `atropos up`, stopped and started again: what it does is what it would have done. */
import { TrajectoryApi } from "@atropos/core"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, FileSystem, Option, Schema, Stream } from "effect"
import * as Bin from "../Bin.ts"
import * as InProcess from "../InProcess.ts"
import * as MetricsFile from "../MetricsFile.ts"

const decodeRows = Schema.decodeUnknownEffect(Schema.toCodecJson(TrajectoryApi.MetricsPage))

const firstLine = <E>(output: Stream.Stream<Uint8Array, E>, wanted: (line: string) => boolean) =>
  output.pipe(
    Stream.decodeText,
    Stream.splitLines,
    Stream.filter(wanted),
    Stream.runHead,
    Effect.map(Option.getOrElse(() => assert.fail("the line did not come")))
  )

/** What the metrics of a folder's run say of each step. */
const figures = (cwd: string) =>
  Effect.map(MetricsFile.read(`${cwd}/.atropos/up/letter-counting-1`), (lines) =>
    lines.map((line) => [line.step, line["reward/mean"], line["train/loss"], line["staleness/max"]] as const)
  )

/** What `up` says at its end of the whole run. */
const summed = (text: string): ReadonlyArray<string> =>
  text.split("\n").filter((line) => /^(mean reward|held-out|trained on|  +[▁-█])/.test(line))

describe("atropos up", () => {
  it.live("stopped by Ctrl-C and started again it takes the very same steps", () =>
    Effect.gen(function* () {
      const words = ["up", "--env", "letter-counting", "--steps", "8", "--batch-size", "64", "--seed", "3"].concat([
        "--env.evaluation_items",
        "16",
        "--port",
        "0",
        "--policy_port",
        "0"
      ])
      const whole = yield* InProcess.folder
      const { code, stdout } = yield* InProcess.run(words)
      // Off a terminal there is nobody who would look at its pages and end it.
      assert.strictEqual(code, 0)
      assert.notInclude(stdout, "viewer stays up")
      const solved = /held-out items solved +(\d+\.\d)% .* before, (\d+\.\d)% .* after/.exec(stdout)
      const expected = yield* figures(whole)
      assert.strictEqual(expected.length, 8)
      assert.isTrue(expected.every(([, , , staleness]) => staleness === 0))
      // What was asked before and after is with the service, for its viewer.
      const evaluations = yield* Effect.scoped(
        Effect.gen(function* () {
          const { says } = yield* InProcess.start(["api", "--port", "0"])
          const [, service] = yield* says(/trajectory service at (http:\S+)/)
          const rows = yield* Effect.promise(() =>
            fetch(`${service}/v1/runs/letter-counting-1/metrics?source=letter-counting`).then((answer) => answer.json())
          )
          return (yield* decodeRows(rows)).metrics
        })
      )
      assert.deepStrictEqual(
        evaluations.map(({ step, values }) => [step, (100 * values["eval/percent_correct"]!).toFixed(1)]),
        [
          [0, solved?.[1]],
          [8, solved?.[2]]
        ]
      )
      assert.isTrue(evaluations.every(({ values }) => values["eval/percent_correct_ci_low"]! < 1))

      const stopped = yield* InProcess.folder
      yield* Effect.scoped(
        Effect.gen(function* () {
          const child = yield* Bin.start(words, { cwd: stopped })
          const said = yield* Effect.forkChild(
            firstLine(child.stdout, (line) => line.startsWith("stopped after step")),
            { startImmediately: true }
          )
          yield* firstLine(child.stderr, (line) => line.includes("/8 steps"))
          yield* child.kill({ killSignal: "SIGINT" })
          const line = yield* Fiber.join(said)
          assert.match(line, /^stopped after step (\d+) of 8, saved in \.atropos\/up\/letter-counting-1\/step_\1: /)
          assert.strictEqual(Number(yield* child.exitCode), 130)
        })
      )
      const fs = yield* FileSystem.FileSystem
      // The database has no holder any more; the file of its lock stays.
      assert.deepStrictEqual((yield* fs.readDirectory(`${stopped}/.atropos`)).sort(), ["lock.sqlite", "pgdata", "up"])
      const resumed = yield* InProcess.run(words)
      assert.strictEqual(resumed.code, 0)
      assert.match(resumed.stdout, /resuming letter-counting-1 after \d+ of 8 steps/)
      // Nor does it learn again what it was shown before its first step.
      assert.notInclude(resumed.stderr, "warm-up steps")
      assert.deepStrictEqual(yield* figures(stopped), expected)
      // The whole run is summed up, not what this process did of it.
      assert.match(resumed.stdout, /8 steps in .+; \d+ of them in this session, in /)
      assert.isAtLeast(summed(stdout).length, 2)
      assert.deepStrictEqual(summed(resumed.stdout), summed(stdout))
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
