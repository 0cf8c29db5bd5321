/**
 * The health of a run that is trained in this process, by what its trainer records, and its environments where they are
 * here too: for the board, for `stop_on`, and for an address that is told of it (`health_webhook`).
 *
 * The address is told of each finding once, while the run goes on; of what `stop_on` names when that ends the run,
 * before the command fails. Telling holds up no step. A resumed run begins without a past.
 */
import { MetricsSink } from "@atropos/core"
import * as Health from "@atropos/core/health/Health"
import { TrainerError } from "@atropos/trainer/learn/TrainerError"
import * as StopOn from "@atropos/trainer/run/StopOn"
import { Effect, FiberSet, Layer } from "effect"
import { Secrets } from "../base/Secrets.ts"
import * as HealthWebhook from "./HealthWebhook.ts"

interface Options {
  readonly run: string
  readonly stopOn: string
  /** Empty: nobody is told. */
  readonly healthWebhook: string
}

export interface Watch {
  readonly recorder: Health.Recorder
  /** What is wrong by all rules, in words, the gravest first. */
  readonly findings: () => ReadonlyArray<string>
  /** The sinks, with everything that goes to them seen here. */
  readonly over: <E, R>(sinks: Layer.Layer<MetricsSink.MetricsSink, E, R>) => typeof sinks
  /** After each step: tells what is new. */
  readonly step: Effect.Effect<void>
  /** Tells where `stop_on` ended what is run. */
  readonly ending: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

/** Sinks whose sources' figures are seen as they are recorded. */
const heard = ({ open }: MetricsSink.MetricsSinkShape, { see }: Health.Recorder): MetricsSink.MetricsSinkShape => ({
  open: (source) =>
    Effect.map(open(source), (recorder) => ({
      ...recorder,
      figures: (step, values, labels) =>
        Effect.suspend(() => {
          see(source.name, step, values)
          return recorder.figures(step, values, labels)
        })
    }))
})

/** Until the scope closes, which waits for what is being told. */
export const make = Effect.fn("Watch.make")(function* ({ healthWebhook, run, stopOn }: Options) {
  const recorder = Health.recorder()
  const ending = StopOn.rulesOf(stopOn)
  const others = Health.ruleNames.filter((rule) => !ending.includes(rule))
  const told = new Set<string>()
  // Whoever knows the address may post there.
  if (healthWebhook !== "") (yield* Secrets).add(healthWebhook)
  const sending = yield* FiberSet.make()
  yield* Effect.addFinalizer(() => FiberSet.awaitEmpty(sending))
  const tellNews = Effect.suspend(() => {
    const news = Health.judge(recorder.recorded, others).filter((finding) => !told.has(Health.keyOf(finding)))
    for (const finding of news) told.add(Health.keyOf(finding))
    return Effect.forEach(
      news,
      (finding) =>
        FiberSet.run(
          sending,
          HealthWebhook.tell(healthWebhook, { run, finding, stopped: false, message: Health.inWords(finding) })
        ),
      { discard: true }
    )
  })
  return {
    recorder,
    findings: () => Health.judge(recorder.recorded).map(Health.inWords),
    over: (sinks) =>
      Layer.effect(
        MetricsSink.MetricsSink,
        Effect.map(MetricsSink.MetricsSink, (all) => heard(all, recorder))
      ).pipe(Layer.provide(sinks)),
    step: healthWebhook === "" ? Effect.void : tellNews,
    ending: (effect) =>
      Effect.tapError(effect, (error) => {
        const [finding] = Health.judge(recorder.recorded, ending)
        return healthWebhook !== "" &&
          finding !== undefined &&
          error instanceof TrainerError &&
          error.reason === "stopped"
          ? HealthWebhook.tell(healthWebhook, { run, finding, stopped: true, message: error.message })
          : Effect.void
      })
  } satisfies Watch
})
