/**
 * Monitors the health of a run trained in this process, from the metrics of its trainer and of environments in this
 * process, and its activity in the service: for the board, `stop_on`, logs, and a webhook (`health_webhook`).
 *
 * Each cause is reported once per run, without its consequences: to the webhook, and on standard error if no board
 * shows it. A `stop_on` finding is reported when it ends the run. Reporting never delays a step. A resumed run starts
 * without history.
 */
import { MetricsSink } from "@atropos/core"
import * as Health from "@atropos/core/health/Health"
import { TrainerError } from "@atropos/trainer/learn/TrainerError"
import * as StopOn from "@atropos/trainer/run/StopOn"
import { Console, Effect, FiberSet, Layer, Schedule, type Scope } from "effect"
import { Secrets } from "../base/Secrets.ts"
import * as ProgressDisplay from "./ProgressDisplay.ts"
import * as Reason from "@atropos/core/base/Reason"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { HttpClient, HttpClientRequest } from "effect/http"

/**
 * Posts each health finding of a run to a URL. The URL is a secret, since anyone who knows it may post there: logs,
 * spans and saved settings contain at most its host.
 */
interface News {
  readonly run: string
  readonly finding: Health.Found
  /** True if the finding ended the run. */
  readonly stopped: boolean
  /** One sentence about the event. */
  readonly message: string
}

const bodyOf = ({ finding: { from, rule, severity, source }, message, run, stopped }: News) => ({
  run,
  rule,
  severity,
  source,
  from,
  stopped,
  message,
  // The field that chat services display.
  text: `${run}: ${message}`
})

/** Only the host: paths and queries of webhooks are secrets. */
const hostOf = (url: string): string => URL.parse(url)?.host ?? "(no URL)"

/** A failure is logged and otherwise ignored. */
const notifyWebhook = (url: string, news: News): Effect.Effect<void> =>
  HttpClientRequest.post(url).pipe(
    HttpClientRequest.bodyJsonUnsafe(bodyOf(news)),
    HttpClient.execute,
    Effect.flatMap((response) =>
      response.status < 300
        ? Effect.void
        : Effect.logWarning("webhook rejected the request", { host: hostOf(url), status: response.status })
    ),
    // A span would contain the URL.
    Effect.provideService(HttpClient.TracerDisabledWhen, () => true),
    Effect.timeout("10 seconds"),
    Effect.catch((error) =>
      Effect.logWarning("webhook unreachable", {
        host: hostOf(url),
        // Client errors contain the URL.
        reason: Reason.root(error).replaceAll(url, hostOf(url))
      })
    ),
    Effect.provide(NodeHttpClient.layerUndici)
  )

interface Options {
  readonly run: string
  readonly stopOn: string
  /** Empty: none. */
  readonly healthWebhook: string
}

export interface Watch {
  readonly recorder: Health.Recorder
  /** Findings of all rules by cause, most severe first. */
  readonly cards: () => ReadonlyArray<Health.Card>
  /** True if the run's scores are in doubt: then nothing is called solved. */
  readonly isInDoubt: () => boolean
  /** The run's activity in the service; undefined until known. */
  readonly activity: () => Health.Activity.Activity | undefined
  /** Polls the run's activity until the scope closes. */
  readonly follow: (
    activity: Effect.Effect<Health.Activity.Activity | undefined>
  ) => Effect.Effect<void, never, Scope.Scope>
  /** Wraps sinks to observe everything recorded. */
  readonly over: <E, R>(sinks: Layer.Layer<MetricsSink.MetricsSink, E, R>) => typeof sinks
  /** Reports new causes; runs after each step. */
  readonly step: Effect.Effect<void>
  /** Reports the finding if `stop_on` ended the effect. */
  readonly ending: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

/** Observes the metrics of all sources as they are recorded. */
const recordingSink = (
  { open }: MetricsSink.MetricsSinkShape,
  { see }: Health.Recorder
): MetricsSink.MetricsSinkShape => ({
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

const lookEvery = "10 seconds"

/** Each judgement reads all past steps: a longer run is judged once per thousandth of its steps. */
const judgements = 1000

/** Runs until the scope closes, which waits for pending reports. */
export const make = Effect.fn("Watch.make")(function* ({ healthWebhook, run, stopOn }: Options) {
  const { recorded, see } = Health.recorder()
  let activity: Health.Activity.Activity | undefined
  let hasMoved = false
  let steps = 0
  const recorder: Health.Recorder = { recorded: { ...recorded, activity: () => activity }, see }
  const isBoardShown = yield* ProgressDisplay.isShown
  const ending = StopOn.rulesOf(stopOn)
  const others = Health.ruleNames.filter((rule) => !ending.includes(rule))
  const printed = new Set<string>()
  /** Rules found in the trainer's own metrics, which cover its environments. */
  const covered = new Set<string>()
  // Anyone who knows the URL may post there.
  if (healthWebhook !== "") (yield* Secrets).add(healthWebhook)
  const sending = yield* FiberSet.make()
  yield* Effect.addFinalizer(() => FiberSet.awaitEmpty(sending))
  const tellNews = Effect.suspend(() => {
    const news = Health.cards(Health.judge(recorder.recorded, others))
      .filter(({ cause }) => !printed.has(Health.keyOf(cause)))
      .filter(({ cause: { rule, source } }) => source === "trainer" || !covered.has(rule))
    for (const { cause: finding } of news) {
      printed.add(Health.keyOf(finding))
      if (finding.source === "trainer") covered.add(finding.rule)
    }
    return Effect.forEach(
      news,
      (card) => {
        const finding = card.cause
        // A consequence may have been printed before its cause was found.
        const message = Health.cardInWords(card)
        const send =
          healthWebhook === ""
            ? Effect.void
            : FiberSet.run(sending, notifyWebhook(healthWebhook, { run, finding, stopped: false, message }))
        return Effect.andThen(isBoardShown ? Effect.void : Console.error(`${finding.severity}: ${message}`), send)
      },
      { discard: true }
    )
  })
  const isAnybodyTold = healthWebhook !== "" || !isBoardShown
  return {
    recorder,
    cards: () => Health.cards(Health.judge(recorder.recorded)),
    isInDoubt: () => Health.isInDoubt(recorder.recorded, "trainer"),
    activity: () => activity,
    follow: (look) =>
      look.pipe(
        Effect.flatMap((now) => {
          // Traces of an earlier process do not mean that this one stalled.
          hasMoved ||= now?.state === "starting" || now?.state === "running"
          activity = hasMoved ? now : undefined
          return isAnybodyTold ? tellNews : Effect.void
        }),
        Effect.repeat(Schedule.spaced(lookEvery)),
        Effect.forkScoped,
        Effect.asVoid
      ),
    over: (sinks) =>
      Layer.effect(
        MetricsSink.MetricsSink,
        Effect.map(MetricsSink.MetricsSink, (all) => recordingSink(all, recorder))
      ).pipe(Layer.provide(sinks)),
    step: Effect.suspend(() => {
      steps++
      return isAnybodyTold && steps % Math.ceil(steps / judgements) === 0 ? tellNews : Effect.void
    }),
    ending: (effect) =>
      Effect.tapError(effect, (error) => {
        const [finding] = Health.judge(recorder.recorded, ending)
        return healthWebhook !== "" &&
          finding !== undefined &&
          error instanceof TrainerError &&
          error.reason === "stopped"
          ? notifyWebhook(healthWebhook, { run, finding, stopped: true, message: error.message })
          : Effect.void
      })
  } satisfies Watch
})
