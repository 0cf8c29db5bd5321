import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, Metric, References } from "effect"
import { HttpClient } from "effect/http"
import { createServer } from "node:net"
import type { AddressInfo } from "node:net"
import * as Waits from "../base/Waits.ts"
import * as GaugeSink from "../../src/metrics/GaugeSink.ts"
import * as PrometheusServer from "../../src/metrics/PrometheusServer.ts"
import * as MetricsSink from "../../src/metrics/MetricsSink.ts"
import * as PrometheusText from "./PrometheusText.ts"

const parts = Layer.mergeAll(
  NodeServices.layer,
  NodeHttpClient.layerUndici,
  Layer.succeed(References.MinimumLogLevel, "None")
)

const source = (name: string): MetricsSink.Source => ({
  kind: "environment",
  name,
  key: name,
  isResumed: false,
  prefix: "",
  config: {},
  announced: Effect.succeed({ group: null, project: null })
})

const scrape = Effect.fnUntraced(function* (url: string) {
  const answer = yield* HttpClient.get(url)
  assert.match(answer.headers["content-type"] ?? "", /^text\/plain; version=0\.0\.4/)
  return PrometheusText.parse(yield* answer.text)
})

describe("Prometheus", () => {
  it.live("reads the newest figures of every source, whatever they are called, beside the process's own counters", () =>
    Effect.gen(function* () {
      const { open } = MetricsSink.make([GaugeSink.sink])
      yield* Effect.scoped(
        Effect.gen(function* () {
          const one = yield* open(source('odd "name"\\\n'))
          const two = yield* open(source("two"))
          yield* one.figures(1, { "train/scores_mean": 0.25 })
          yield* one.figures(2, {
            "train/scores_mean": 0.5,
            "eval/pass@2": 1,
            eval_pass_2: 0.5,
            lost: Number.NaN,
            below: -Infinity
          })
          yield* two.figures(7, { "train/scores_mean": -1e-300 })
        })
      )
      yield* Metric.update(
        Metric.histogram("atropos.test.seconds", { description: "two\nlines", boundaries: [0.1, 1] }),
        0.5
      )
      const { url } = yield* PrometheusServer.start({ host: "127.0.0.1", port: 0 })
      const samples = yield* scrape(yield* url)
      const valueOf = (name: string, from: string) =>
        samples.find((sample) => sample.name === name && sample.labels["source"] === from)?.value
      assert.strictEqual(valueOf("atropos_train_scores_mean", 'odd "name"\\\n'), 0.5)
      assert.strictEqual(valueOf("atropos_train_scores_mean", "two"), -1e-300)
      assert.strictEqual(valueOf("atropos_step", 'odd "name"\\\n'), 2)
      assert.isNaN(valueOf("atropos_lost", 'odd "name"\\\n'))
      assert.strictEqual(valueOf("atropos_below", 'odd "name"\\\n'), Number.NEGATIVE_INFINITY)
      assert.isDefined(valueOf("atropos_eval_pass_2", 'odd "name"\\\n'), "names that collide are one gauge")
      assert.isTrue(samples.some(({ name }) => name === "atropos_test_seconds_bucket"))
      assert.isTrue(samples.some(({ name }) => name === "atropos_metrics_entries_total"))
    }).pipe(Effect.provide(parts))
  )

  it.live("are not read under a name that was pointed here", () =>
    Effect.gen(function* () {
      const { url } = yield* PrometheusServer.start({ host: "127.0.0.1", port: 0 })
      const rebound = yield* HttpClient.get(yield* url, { headers: { host: "evil.example" } })
      assert.strictEqual(rebound.status, 403)
      assert.include(yield* rebound.text, "ATROPOS_ALLOWED_HOSTS=evil.example")
    }).pipe(Effect.provide(parts))
  )

  it.live("a port that is taken stops nothing, and is told", () =>
    Effect.gen(function* () {
      const taken = createServer()
      yield* Effect.acquireRelease(
        Effect.callback<void>((resume) => {
          taken.listen(0, "127.0.0.1", () => resume(Effect.void))
        }),
        () => Effect.sync(() => taken.close())
      )
      const { port } = taken.address() as AddressInfo
      const said: Array<string> = []
      const heard = Logger.layer([Logger.make(({ message }) => said.push(JSON.stringify(message)))])
      yield* PrometheusServer.start({ host: "127.0.0.1", port }).pipe(
        Effect.andThen(Waits.untilTrue("a log line", () => said.length > 0)),
        Effect.provide(Layer.merge(heard, Layer.succeed(References.MinimumLogLevel, "Info")))
      )
      assert.match(said.join(), /failed to start; retrying.*the port is in use/)
    }).pipe(Effect.provide(parts))
  )
})
