import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, References, Result, Schema, Tracer } from "effect"
import * as OpenTelemetry from "../../src/metrics/OpenTelemetry.ts"
import * as PackedGroup from "../../src/service/PackedGroup.ts"
import * as Trace from "../../src/base/Trace.ts"
import * as WireGroup from "../../src/service/WireGroup.ts"
import * as OtlpServer from "../metrics/OtlpServer.ts"
import { group } from "../rollout/RolloutTest.ts"

const item = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.withSpan(effect, Trace.roots.item, { root: true })

const remote = (flags: string) => Trace.parse(`00-${"a".repeat(32)}-${"b".repeat(16)}-${flags}`)

/** Runs with a tracer of this share; the names of what was recorded. */
const recorded = (shareOfItems: number, effect: Effect.Effect<unknown>) =>
  Effect.gen(function* () {
    const names: Array<string> = []
    const tracer = Tracer.make({
      span: (options) => {
        if (options.sampled) names.push(options.name)
        return new Tracer.NativeSpan(options)
      }
    })
    yield* Effect.withTracer(effect, Trace.sampled(tracer, shareOfItems))
    return names
  })

describe("Trace", () => {
  it.effect.prop(
    "records the share of items that was asked for, to one item, with all that belongs to them",
    [Schema.Natural, Schema.Natural],
    ([part, number]) =>
      Effect.gen(function* () {
        const share = (part % 101) / 100
        const items = number % 300
        const work = item(Effect.withSpan(Effect.void, "inner"))
        const names = yield* recorded(
          share,
          Effect.forEach(Array.from({ length: items }), () => work, { discard: true })
        )
        const begun = names.filter((name) => name === Trace.roots.item).length
        assert.isAtMost(Math.abs(begun - share * items), 1)
        assert.strictEqual(names.filter((name) => name === "inner").length, begun)
      })
  )

  it.effect("records steps and evaluations always, and nothing that begins by itself", () =>
    Effect.gen(function* () {
      const names = yield* recorded(
        0,
        Effect.all([
          item(Effect.void),
          Effect.withSpan(Effect.void, "poll"),
          Effect.withSpan(Effect.withSpan(Effect.void, "part"), Trace.roots.step, { root: true }),
          Effect.withSpan(Effect.void, Trace.roots.evaluation, { root: true })
        ])
      )
      assert.deepStrictEqual(names, [Trace.roots.step, "part", Trace.roots.evaluation])
      // A span from before the tracer was there is no trace to go on with.
      const inside = recorded(1, Effect.withSpan(Effect.void, "request"))
      assert.deepStrictEqual(yield* Effect.withSpan(inside, "command"), [])
    })
  )

  it.effect("what another process recorded is gone on with, and what it did not is not", () =>
    Effect.gen(function* () {
      const traced = remote("01")
      assert.strictEqual(traced?.spanId, "b".repeat(16))
      const names = yield* recorded(0, Effect.withSpan(Effect.void, "here", { parent: traced }))
      assert.deepStrictEqual(names, ["here"])
      assert.isUndefined(remote("00"))
      for (const wrong of [
        undefined,
        "",
        `01-${"a".repeat(32)}-${"b".repeat(16)}-01`,
        `00-${"0".repeat(32)}-${"b".repeat(16)}-01`,
        `00-${"a".repeat(32)}-${"0".repeat(16)}-01`,
        `00-${"A".repeat(32)}-${"b".repeat(16)}-01`
      ]) {
        assert.isUndefined(Trace.parse(wrong))
      }
    })
  )

  it.effect("without a tracer nothing is recorded and nothing crosses", () =>
    Effect.gen(function* () {
      assert.isUndefined(yield* item(Trace.current))
      assert.isUndefined(yield* Trace.begin({ name: "later", startTime: 0n }))
    })
  )

  it("a group's context is in its packed form, checked, and not in the original's", () => {
    const traceparent = `00-${"1".repeat(32)}-${"2".repeat(16)}-01`
    const sent = { ...group(1), traceparent }
    const packed = PackedGroup.encode(sent)
    assert.deepInclude(Result.getOrThrow(PackedGroup.decode(packed)), { traceparent })
    assert.notInclude(WireGroup.encode(sent), traceparent)
    const forged = Buffer.from(Buffer.from(packed).toString("latin1").replace("00-111", "zz-111"), "latin1")
    const refused = PackedGroup.decode(forged)
    assert.isTrue(Result.isFailure(refused) && refused.failure.field === "shape")
    assert.notProperty(Result.getOrThrow(PackedGroup.decode(PackedGroup.encode(group(1)))), "traceparent")
  })
})

describe("OpenTelemetry", () => {
  it.live("exports spans with their names and parents, and metrics; a collector that is away is told once", () =>
    Effect.gen(function* () {
      const collector = yield* OtlpServer.make
      const said: Array<string> = []
      const heard = Layer.merge(
        Logger.layer([Logger.make(({ message }) => said.push(JSON.stringify(message)))]),
        Layer.succeed(References.MinimumLogLevel, "Info")
      )
      const exporting = (endpoint: string) =>
        item(Effect.withSpan(Effect.void, "inner", { attributes: { answer: 42 } })).pipe(
          Effect.provide(
            OpenTelemetry.layer({ endpoint, serviceName: "test", traceSample: 1 }).pipe(
              Layer.provide(NodeHttpClient.layerUndici),
              Layer.provideMerge(heard)
            )
          )
        )
      yield* exporting(collector.url)
      assert.deepStrictEqual(said, [])
      const [inner, outer] = collector.spans
      assert.deepInclude(inner, {
        service: "test",
        name: "inner",
        parentSpanId: outer!.spanId,
        traceId: outer!.traceId
      })
      assert.strictEqual(Number(inner?.attributes["answer"]), 42)
      assert.strictEqual(outer?.name, Trace.roots.item)
      yield* exporting("http://127.0.0.1:9")
      assert.strictEqual(said.filter((line) => line.includes("telemetry could not be sent")).length, 1)
    })
  )
})
