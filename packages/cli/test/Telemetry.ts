/**
 * What a run of several processes must have told: one trace from item to step, and a run per source at Weights &
 * Biases.
 */
import { assert } from "@effect/vitest"
import type * as OtlpServer from "../../core/test/metrics/OtlpServer.ts"
import * as WandbServer from "../../core/test/metrics/WandbServer.ts"

type Span = OtlpServer.Span

const one = (spans: ReadonlyArray<Span>, name: string, about: string): Span => {
  const found = spans.find((span) => span.name === name)
  return found ?? assert.fail(`${about} has no ${name}, only ${spans.map((span) => span.name).join(", ")}`)
}

/** From a span up to the root of its trace, by names; processes in brackets where they change. */
const ancestry = (spans: ReadonlyArray<Span>, from: Span): ReadonlyArray<string> => {
  const parent = spans.find(({ spanId, traceId }) => spanId === from.parentSpanId && traceId === from.traceId)
  const own = parent?.service === from.service ? from.name : `[${from.service}] ${from.name}`
  return parent === undefined ? [own] : [...ancestry(spans, parent), own]
}

/** Follows a step back to the items it was trained on. */
export const checkTraces = ({ bodies, metrics, spans }: OtlpServer.OtlpServer, secret: string): void => {
  const steps = spans.filter(({ name }) => name === "Trainer.step")
  assert.deepStrictEqual(
    steps.map(({ attributes, service }) => [service, Number(attributes["trainer.step"])]),
    [
      ["atropos-train", 1],
      ["atropos-train", 2]
    ]
  )
  for (const step of steps) {
    const parts = spans.filter(({ parentSpanId, traceId }) => traceId === step.traceId && parentSpanId === step.spanId)
    const names = ["wait", "prepare", "compute", "update", "publish", "save"].map((part) => `Trainer.${part}`)
    assert.includeMembers(
      parts.map(({ name }) => name),
      names
    )
    const told = parts.filter(({ name }) => names.includes(name)).reduce((sum, { end, start }) => sum + end - start, 0)
    assert.closeTo(told / (step.end - step.start), 1, 0.001, "the parts tell where the time of the step went")

    // Two groups of four make a batch of eight: each is linked with its item's trace.
    assert.lengthOf(step.links, 2)
    for (const link of step.links) {
      const trace = spans.filter(({ traceId }) => traceId === link.traceId)
      const item = one(trace, "Rollout.item", "the item's trace")
      assert.isUndefined(item.parentSpanId)
      const submit = trace.find(({ spanId }) => spanId === link.spanId)
      assert.strictEqual(submit?.name, "Rollout.submit")
      assert.strictEqual(submit?.parentSpanId, item.spanId)
      const request = one(trace, "Inference.request", "the item's trace")
      assert.isTrue(Number(request.attributes["inference.tokens"]) > 0)
      const path = ancestry(trace, one(trace, "Engine.generate", "the item's trace"))
      assert.strictEqual(path[0], "[atropos-serve] Rollout.item")
      assert.includeMembers([...path], ["Environment.rollOut", "Inference.request"])
      assert.isTrue(path.some((name) => name.startsWith("[atropos-policy] ")))
      assert.deepStrictEqual(ancestry(trace, one(trace, "Environment.score", "the item's trace")), [
        "[atropos-serve] Rollout.item",
        "Environment.rollOut",
        "Environment.score"
      ])
      const group = one(trace, "Trainer.group", "the item's trace")
      assert.strictEqual(group.service, "atropos-train")
      assert.strictEqual(group.parentSpanId, submit?.spanId)
      assert.deepInclude(group.links[0], { traceId: step.traceId, spanId: step.spanId })
      // In the order in which it happened. The trainer may have a group before its sender has the answer.
      const order = [item.start, request.start, request.end, submit!.start, group.start, group.end]
      assert.deepStrictEqual(
        order.toSorted((a, b) => a - b),
        order
      )
    }
  }
  const received = spans.find(({ kind, service }) => service === "atropos-api" && kind === 2)
  assert.isDefined(received, "the service's part of a submission is in the trace of its item")
  assert.strictEqual(ancestry(spans, received)[0], "[atropos-serve] Rollout.item")
  // Nothing but items, evaluations and steps begins a trace.
  const roots = new Set(spans.filter(({ parentSpanId }) => parentSpanId === undefined).map(({ name }) => name))
  assert.deepStrictEqual([...roots].sort(), ["Rollout.item", "Trainer.step"])
  assert.isTrue(metrics.get("atropos-train")?.has("atropos.train/loss"))
  assert.isTrue(metrics.get("atropos-serve")?.has("atropos.train/scores_mean"))
  assert.isFalse(bodies.some((body) => body.includes(secret)))
}

/** The trainer's run and the environment's, in one group. */
export const checkWandb = (server: WandbServer.WandbServer, steps: number): void => {
  assert.deepStrictEqual(server.mistakes, [])
  const runs = [...server.runs.values()]
  const trainer = runs.find(({ variables }) => variables["jobType"] === "trainer")
  const environment = runs.find(({ variables }) => variables["jobType"] === "environment")
  assert.lengthOf(runs, 2)
  assert.strictEqual(trainer!.variables["project"], "toys")
  assert.strictEqual(environment!.variables["project"], "toys")
  assert.match(String(trainer!.variables["group"]), /^default-\d{4}-\d\d-\d\d-[a-z]{6}$/)
  assert.strictEqual(environment!.variables["group"], trainer!.variables["group"])
  assert.deepStrictEqual(
    WandbServer.rowsOf(trainer!).map((row) => row["_step"]),
    Array.from({ length: steps }, (_, index) => index + 1)
  )
  assert.property(WandbServer.rowsOf(trainer!)[0], "train/loss")
  const names = Object.keys(Object.assign({}, ...WandbServer.rowsOf(environment!)))
  assert.includeMembers(names, ["long-answers_0_train/scores_mean", "long-answers_0_train/rollouts"])
  assert.isTrue(names.some((name) => name.startsWith("server/server_0_")))
  assert.deepStrictEqual([trainer!.exitcode, environment!.exitcode], [0, 0])
}
