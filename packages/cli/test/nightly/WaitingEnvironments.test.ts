/**
 * Service, policy server, two environments and trainer as a user starts them, with `--on_stale wait`: at 0 every
 * sequence is on-policy and none is dropped, whoever of them is killed.
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Layer, Result } from "effect"
import { fileURLToPath } from "node:url"
import * as MovableClock from "../../../api/test/MovableClock.ts"
import * as Waits from "../../../core/test/base/Waits.ts"
import * as Atropos from "../crash/Atropos.ts"
import * as Trainer from "../crash/Trainer.ts"
import * as InProcess from "../InProcess.ts"
import * as MetricsFile from "../MetricsFile.ts"

const model = fileURLToPath(new URL("../../../trainer/test/fixtures/models/qwen2", import.meta.url))
const longAnswers = fileURLToPath(new URL("../fixtures/long-answers.ts", import.meta.url))
const neverDone = fileURLToPath(new URL("../fixtures/never-done.ts", import.meta.url))

const batchSize = 16

/** A trainer tells that samplers have the weights that it made of a batch. */
const isTold = /^POST .*\/trained$/

/** Service and policy server, in the folder of the test. */
const servers = Effect.gen(function* () {
  const cwd = yield* InProcess.folder
  const api = yield* InProcess.start(["api", "--port", "0"])
  const [, service = ""] = yield* api.says(/trajectory service at (http:\S+)/)
  const policy = yield* InProcess.start(["policy", "--model", model, "--port", "0"])
  const [, server = ""] = yield* policy.says(/policy .*?(http:\/\/127\.0\.0\.1:\d+)/)
  return {
    service,
    serving: (env: string, name: string, steps: number) =>
      ["serve", "--env", env, "--env.rollout_server_url", service, "--env.wandb_name", name]
        .concat(["--env.tokenizer_name", model, "--env.max_token_length", "32", "--env.total_steps", String(steps)])
        .concat(["--env.ensure_scores_are_not_same", "False"])
        .concat(["--openai.server_type", "vllm", "--openai.base_url", `${server}/v1`]),
    training: (url: string, steps: number) =>
      ["train", "--model", model, "--atropos-url", url, "--batch-size", String(batchSize), "--steps", String(steps)]
        .concat(["--seq-len", "64", "--threads", "1", "--device", "cpu", "--loss", "grpo", "--lr", "1e-3"])
        .concat(["--checkpoint-interval", "2", "--on_stale", "wait", "--max_staleness", "0"])
        .concat(["--weight-sync", JSON.stringify([`policy+${server}`])]),
    metrics: MetricsFile.read(`${cwd}/trained_model_checkpoints`),
    cwd,
    stop: Effect.all([api.interrupt, policy.interrupt], { concurrency: "unbounded" })
  }
})

/** Every step was taken, and each time on what its own weights had sampled. */
const checkSteps = (metrics: Effect.Success<ReturnType<typeof MetricsFile.read>>, steps: number) => {
  assert.deepStrictEqual(
    [...new Set(metrics.map(({ step }) => step))],
    Array.from({ length: steps }, (_, i) => i + 1)
  )
  for (const one of metrics) {
    assert.deepInclude(one, { "staleness/max": 0, "staleness/dropped": 0, "train/skipped": 0 })
  }
}

const layerTest = Layer.merge(NodeServices.layer, NodeHttpClient.layerUndici)

describe("atropos train --on_stale wait", () => {
  it.live("lets environments in programs of their own wait for its weights", () =>
    Effect.gen(function* () {
      const steps = 5
      const { metrics, service, serving, stop, training } = yield* servers
      const environments = yield* Effect.forEach(["first", "second"], (name) =>
        InProcess.start(serving(longAnswers, name, steps))
      )
      const { code, stderr } = yield* InProcess.run(training(service, steps))
      assert.strictEqual(code, 0, stderr)
      const lines = yield* metrics
      checkSteps(lines, steps)
      assert.strictEqual(lines.length, steps)
      for (const { ended } of environments) assert.strictEqual((yield* ended).code, 0)
      yield* stop
    }).pipe(Effect.scoped, Effect.provide(layerTest))
  )

  it.live(
    "killed before and after environments may go on, is followed by one that trains on its own weights alone",
    () =>
      Effect.gen(function* () {
        const steps = 8
        const { cwd, metrics, service, serving, stop, training } = yield* servers
        const environments = yield* Effect.forEach(["first", "second"], (name) =>
          InProcess.start(serving(longAnswers, name, steps))
        )
        // Each time the samplers have weights that no checkpoint has: those of step 3, and of step 5.
        for (const when of ["before", "after"] as const) {
          const killAt = { of: "asked", when, what: isTold, nth: 3 } as const
          yield* (yield* Atropos.start(training(service, steps), { cwd, killAt })).killed
        }
        const { code, stderr } = yield* InProcess.run(training(service, steps))
        assert.strictEqual(code, 0, stderr)
        const lines = yield* metrics
        checkSteps(lines, steps)
        assert.isAtMost(lines.length, steps + 2)
        for (const { ended } of environments) assert.strictEqual((yield* ended).code, 0)
        yield* stop
      }).pipe(Effect.scoped, Effect.provide(layerTest))
  )

  it.live("goes on half a minute after an environment was killed that held all the others up", () =>
    Effect.gen(function* () {
      const steps = 3
      const { advance, clock } = yield* MovableClock.make
      const { cwd, metrics, service, serving, stop, training } = yield* Effect.provideService(
        servers,
        Clock.Clock,
        clock
      )
      const trainer = yield* InProcess.start(training(service, steps))
      const summaryIs = (is: (summary: Effect.Success<ReturnType<typeof Trainer.summary>>) => boolean) =>
        Waits.until(
          String(is),
          Effect.result(Trainer.summary(service)),
          (summary) => Result.isSuccess(summary) && is(summary.success)
        )
      const victim = yield* Atropos.start(serving(neverDone, "first", steps), { cwd })
      // It has begun all that the first batch may have.
      yield* summaryIs(({ bound }) => bound?.underWay === batchSize)
      const second = yield* InProcess.start(serving(longAnswers, "second", steps))
      yield* victim.kill
      const { bound, queuedGroups } = yield* Trainer.summary(service)
      assert.deepStrictEqual([bound, queuedGroups], [{ maxStaleness: 0, underWay: batchSize, startable: 0 }, 0])
      yield* advance(31_000)
      assert.strictEqual((yield* trainer.ended).code, 0)
      checkSteps(yield* metrics, steps)
      assert.strictEqual((yield* second.ended).code, 0)
      yield* stop
    }).pipe(Effect.scoped, Effect.provide(layerTest))
  )
})
