/** What is found wrong with a run is told to an address while the run goes on, and when it ends by it. */
import { assert, describe, it } from "@effect/vitest"
import { MetricsSink } from "@atropos/core"
import { TrainerError } from "@atropos/trainer"
import * as StepMetrics from "@atropos/trainer/run/StepMetrics"
import { Console, Effect, Layer, Logger, Schema, Tracer } from "effect"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { inspect } from "node:util"
import * as Runtime from "effect/Runtime"
import * as Waits from "../../../core/test/base/Waits.ts"
import * as Progress from "../../src/base/Progress.ts"
import * as Services from "../../src/config/Services.ts"
import * as Watch from "../../src/train/Watch.ts"
import { step } from "./Steps.ts"

/** A server that keeps what it is sent, and answers with a status. */
const listening = (status: number) =>
  Effect.acquireRelease(
    Effect.promise(
      () =>
        new Promise<{ readonly url: string; readonly bodies: ReadonlyArray<string>; readonly close: () => void }>(
          (resolve) => {
            const bodies: Array<string> = []
            const server = createServer((request, response) => {
              let body = ""
              request.on("data", (part) => (body += String(part)))
              request.on("end", () => {
                bodies.push(body)
                response.writeHead(status).end()
              })
            })
            server.listen(0, "127.0.0.1", () => {
              const { port } = server.address() as AddressInfo
              resolve({ url: `http://127.0.0.1:${port}/hook`, bodies, close: () => server.close() })
            })
          }
        )
    ),
    ({ close }) => Effect.sync(close)
  )

const Told = Schema.fromJsonString(
  Schema.Struct({
    run: Schema.String,
    rule: Schema.String,
    severity: Schema.String,
    source: Schema.String,
    from: Schema.Int,
    stopped: Schema.Boolean,
    message: Schema.String,
    text: Schema.String
  })
)

const read = (bodies: ReadonlyArray<string>) => bodies.map((body) => Schema.decodeSync(Told)(body))

const sourceOf = (kind: "environment" | "trainer", name: string): MetricsSink.Source => ({
  kind,
  name,
  key: name,
  isResumed: false,
  prefix: "",
  config: {},
  announced: Effect.succeed({ group: null, project: null })
})

/**
 * A run of so many steps whose loss is no number at the third and whose maze is stuck, recorded as trainer and
 * environments do.
 */
const train = Effect.fnUntraced(function* (watch: Watch.Watch, steps: number) {
  const { open } = yield* MetricsSink.MetricsSink
  const trainer = yield* open(sourceOf("trainer", "trainer"))
  const maze = yield* open(sourceOf("environment", "maze_0"))
  for (let number = 1; number <= steps; number++) {
    const metrics = step(number, number === 3 ? { loss: Number.NaN, skipped: "nonFinite" } : {})
    yield* trainer.figures(number, StepMetrics.values(metrics))
    yield* maze.figures(number, { "train/percent_identical": 1, "train/solved_fraction": 0 })
    yield* watch.step
  }
})

const sinks = Layer.succeed(MetricsSink.MetricsSink, MetricsSink.make([]))

const stopped = new TrainerError.TrainerError({
  reason: "stopped",
  message: "stopped by stop_on. Not a number (not_finite): …"
})

/** What is sent of a run with these figures at each step, of the trainer and of `maze_0`. */
const sentOf = (
  steps: number,
  at: (step: number) => { readonly trainer: Record<string, number>; readonly maze?: Record<string, number> }
) =>
  Effect.gen(function* () {
    const { bodies, url } = yield* listening(204)
    yield* Effect.scoped(
      Effect.gen(function* () {
        const watch = yield* Watch.make({ run: "nightly", stopOn: "", healthWebhook: url })
        const record = Effect.gen(function* () {
          const { open } = yield* MetricsSink.MetricsSink
          const trainer = yield* open(sourceOf("trainer", "trainer"))
          const maze = yield* open(sourceOf("environment", "maze_0"))
          for (let number = 1; number <= steps; number++) {
            const figures = at(number)
            yield* trainer.figures(number, figures.trainer)
            if (figures.maze !== undefined) yield* maze.figures(number, figures.maze)
            yield* watch.step
          }
        })
        yield* Effect.scoped(Effect.provide(record, watch.over(sinks)))
      })
    )
    return read(bodies)
  })

describe("Watch", () => {
  it.live("tells a finding of the trainer's figures once, not again for an environment whose rows come later", () =>
    Effect.gen(function* () {
      const sent = yield* sentOf(14, (step) => ({
        trainer: { "batch/truncated_fraction": 1 },
        ...(step > 2 && { maze: { "train/truncated_fraction": 1 } })
      }))
      assert.deepStrictEqual(
        sent.map(({ from, rule, source }) => [rule, source, from]),
        [["truncation", "trainer", 1]]
      )
    })
  )

  it.live("names what was printed before its cause was found, once the cause is", () =>
    Effect.gen(function* () {
      const sent = yield* sentOf(20, (step) => ({
        trainer: { "train/skipped": 1 },
        ...(step > 4 && { maze: { "train/truncated_fraction": 1 } })
      }))
      assert.deepStrictEqual(sent.map(({ rule }) => rule).toSorted(), ["skipped", "truncation"])
      const [cause] = sent.filter(({ rule }) => rule === "truncation")
      assert.match(cause!.message, /^Answers truncated .* With it: Steps skipped\.$/)
    })
  )

  it.live("tells of each finding once, of environments' too, while the run goes on", () =>
    Effect.gen(function* () {
      const { bodies, url } = yield* listening(204)
      const findings = yield* Effect.scoped(
        Effect.gen(function* () {
          const watch = yield* Watch.make({ run: "nightly", stopOn: "", healthWebhook: url })
          yield* Effect.scoped(Effect.provide(train(watch, 30), watch.over(sinks)))
          return watch.cards()
        })
      )
      // The watch has ended: nothing is on its way any more.
      const told = read(bodies).toSorted((one, other) => one.rule.localeCompare(other.rule))
      assert.deepStrictEqual(
        told.map(({ rule, run, severity, source, stopped }) => [run, rule, severity, source, stopped]),
        [
          ["nightly", "not_finite", "broken", "trainer", false],
          ["nightly", "stuck", "broken", "maze_0", false]
        ]
      )
      assert.match(
        told[1]!.text,
        /^nightly: Environment stuck \(stuck\): 100% of the groups of maze_0 .* 0% of the answers are solved\.$/
      )
      assert.deepStrictEqual(
        findings.map(({ cause }) => cause.rule),
        ["not_finite", "stuck"]
      )
    })
  )

  it.live(
    "prints each cause once where there is no terminal, and what the service says of a run that does not move",
    () =>
      Effect.gen(function* () {
        const printed: Array<string> = []
        const console = { ...globalThis.console, error: (text: string) => void printed.push(text) }
        yield* Effect.gen(function* () {
          const watch = yield* Watch.make({ run: "nightly", stopOn: "", healthWebhook: "" })
          yield* Effect.scoped(Effect.provide(train(watch, 30), watch.over(sinks)))
          assert.isUndefined(watch.activity())
          const activity = { state: "stalled" as const, idleSeconds: 180, environment: null, errors: [] }
          const stalled = { ...activity, reason: "no environment is connected" }
          // A run that is resumed begins with what its last process left.
          const left = yield* Effect.scoped(
            Effect.andThen(watch.follow(Effect.succeed(stalled)), Effect.sync(watch.activity))
          )
          assert.isUndefined(left)
          yield* watch.follow(Effect.succeed({ ...stalled, state: "running" as const, reason: null }))
          yield* Waits.untilTrue("the run has moved", () => watch.activity()?.state === "running")
          yield* watch.follow(Effect.succeed(stalled))
          yield* Waits.untilTrue("the run that does not move is told", () => printed.length === 3)
          assert.strictEqual(watch.activity()?.state, "stalled")
        }).pipe(
          Effect.scoped,
          Effect.provideService(Console.Console, console),
          Effect.provideService(Progress.Presenter, "lines")
        )
        assert.deepStrictEqual(
          printed.map((line) => line.slice(0, 40)),
          [
            "broken: NaN or infinite loss (not_finite",
            "broken: Environment stuck (stuck): 100% of",
            "broken: Run stalled (stalled): No progre"
          ].map((line) => line.slice(0, 40))
        )
      })
  )

  it.live("tells of what ends the run only then, and lets it fail with exit code 3, whatever the address answers", () =>
    Effect.gen(function* () {
      for (const status of [204, 500]) {
        const { bodies, url } = yield* listening(status)
        const error = yield* Effect.gen(function* () {
          const watch = yield* Watch.make({ run: "nightly", stopOn: "not_finite", healthWebhook: url })
          yield* Effect.scoped(Effect.provide(train(watch, 3), watch.over(sinks)))
          return yield* Effect.flip(Effect.mapError(watch.ending(Effect.fail(stopped)), Services.toFailure))
        }).pipe(Effect.scoped)
        assert.strictEqual(error[Runtime.errorExitCode], 3)
        const { message } = stopped
        assert.deepStrictEqual(read(bodies), [
          {
            run: "nightly",
            rule: "not_finite",
            severity: "broken",
            source: "trainer",
            from: 3,
            stopped: true,
            message,
            text: `nightly: ${message}`
          }
        ])
      }
    })
  )

  it.live("says nothing of other failures, nor where nobody is to be told", () =>
    Effect.gen(function* () {
      const { bodies, url } = yield* listening(204)
      const fails = Effect.fnUntraced(function* (error: TrainerError.TrainerError, healthWebhook: string) {
        const watch = yield* Watch.make({ run: "r", stopOn: "not_finite", healthWebhook })
        yield* Effect.scoped(Effect.provide(train(watch, 3), watch.over(sinks)))
        return (yield* Effect.flip(Effect.mapError(watch.ending(Effect.fail(error)), Services.toFailure)))[
          Runtime.errorExitCode
        ]
      }, Effect.scoped)
      const other = new TrainerError.TrainerError({ reason: "service", message: "refused" })
      assert.strictEqual(yield* fails(other, url), 1)
      assert.strictEqual(yield* fails(stopped, ""), 3)
      assert.deepStrictEqual(bodies, [])
      // Nobody there: told in the log, and the failure stays what it is. The URL is a secret, its host is not.
      const logged: Array<string> = []
      const spans: Array<string> = []
      const logging = Logger.layer([Logger.make((entry) => void logged.push(inspect(entry.message, { depth: 9 })))])
      const tracer = Tracer.make({
        span: (options) => {
          const span = new Tracer.NativeSpan(options)
          spans.push(options.name)
          return span
        }
      })
      for (const secret of ["http://127.0.0.1:9/hooks/s3cret?token=t0ken", "no://url/s3cret", "s3cret"]) {
        const failure = fails(stopped, secret).pipe(
          Effect.provide(logging),
          Effect.provideService(Tracer.Tracer, tracer)
        )
        assert.strictEqual(yield* failure, 3)
      }
      const refusing = yield* listening(500)
      yield* fails(stopped, `${refusing.url}/s3cret`).pipe(Effect.provide(logging))
      assert.include(logged.join(), "127.0.0.1:9")
      assert.lengthOf(logged, 4)
      assert.notMatch(logged.join(), /s3cret|t0ken/)
      assert.notMatch(spans.join(), /POST/)
    })
  )
})
