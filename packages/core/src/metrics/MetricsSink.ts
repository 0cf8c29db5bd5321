/**
 * Sends a run's metrics, tables and settings to any number of sinks: files, the trajectory service, Prometheus,
 * TensorBoard, Weights & Biases.
 *
 * Environments and trainers `open` a source and record; each sink receives the records in order. Recording never fails
 * and never waits (`flush` does, for a second at most): a slow or unavailable sink queues up to 10,000 entries or 32
 * MiB (then drops and counts the oldest), is retried with growing pauses, and is logged once. Finishing writes the
 * queue within `flushWithin`. NaN and infinities are recorded like other values.
 *
 * Sinks are plain values made by effects (`metrics/FileSink`, `metrics/ServiceSink`, …).
 */
import { Clock, Context, type Duration, Effect, type Exit, Layer, Option, type Scope } from "effect"
import * as Waiting from "../base/Waiting.ts"
import * as Feed from "./Feed.ts"
import * as ServiceSink from "./ServiceSink.ts"
import type { Figures, Sink, Source, Table } from "./Sink.ts"
import type { TelemetryClientShape } from "../service/TelemetryClient.ts"

export * from "./Sink.ts"

export interface Recorder {
  readonly figures: (step: number, values: Figures["values"], labels?: Figures["labels"]) => Effect.Effect<void>
  /** True if any sink takes tables, which may be expensive to make. */
  readonly wantsTables: boolean
  /** Waits until records are written: for a second at most, and not for an unavailable sink. */
  readonly flush: Effect.Effect<void>
  readonly table: (step: number, table: Pick<Table, "name" | "columns" | "rows">) => Effect.Effect<void>
  /**
   * Writes the queue and reports the end of the source to the sinks. Once; later calls, and the scope's end, have no
   * effect.
   */
  readonly finish: (exit: Exit.Exit<unknown, unknown>) => Effect.Effect<void>
}

export interface MetricsSinkShape {
  /** Finished by its scope at the latest. */
  readonly open: (source: Source) => Effect.Effect<Recorder, never, Scope.Scope>
}

export class MetricsSink extends Context.Service<MetricsSink, MetricsSinkShape>()("@atropos/core/MetricsSink") {}

export interface Options {
  /** Time limit for finishing a source. Default 10 seconds. */
  readonly flushWithin?: Duration.Input
}

/** Records to all of these. */
export const make = (sinks: ReadonlyArray<Sink>, { flushWithin = "10 seconds" }: Options = {}): MetricsSinkShape => ({
  open: Effect.fnUntraced(function* (source) {
    const safe = { ...source, config: withoutSecrets(source.config) }
    const feeds = yield* Effect.forEach(sinks, (sink) => Feed.open(sink, safe, flushWithin))
    const tabular = feeds.filter((_, index) => sinks[index]!.takesTables)
    const recorder: Recorder = {
      figures: (step, values, labels) =>
        Effect.map(Clock.currentTimeMillis, (at) => {
          if (Object.keys(values).length === 0) return
          const entry: Figures = { _tag: "Figures", step, at, values, ...(labels && { labels }) }
          for (const feed of feeds) feed.push(entry)
        }),
      wantsTables: tabular.length > 0,
      flush: Effect.asVoid(
        Waiting.within(
          Effect.forEach(feeds, ({ flushed }) => flushed, { concurrency: "unbounded", discard: true }),
          "1 second"
        )
      ),
      table: (step, table) =>
        Effect.map(Clock.currentTimeMillis, (at) => {
          for (const feed of tabular) feed.push({ _tag: "Table", step, at, ...table })
        }),
      finish: (exit) => Effect.forEach(feeds, (feed) => feed.finish(exit), { concurrency: "unbounded", discard: true })
    }
    yield* Effect.addFinalizer(recorder.finish)
    return recorder
  })
})

/** The sinks made by these effects, for the lifetime of the layer. */
export const layer = <E, R>(
  sinks: ReadonlyArray<Effect.Effect<Sink, E, R>>,
  options?: Options
): Layer.Layer<MetricsSink, E, Exclude<R, Scope.Scope>> =>
  Layer.effect(
    MetricsSink,
    Effect.map(Effect.all(sinks), (made) => make(made, options))
  )

/** The sinks of the context; without any, the trajectory service only. */
export const orService = (client: TelemetryClientShape): Effect.Effect<MetricsSinkShape> =>
  Effect.map(Effect.serviceOption(MetricsSink), (found) =>
    Option.getOrElse(found, () => make([ServiceSink.of(client)]))
  )

/** The last words of a name, in lower case and separated by `_`. */
const secretName =
  /(^|_)((api|secret|private|access|auth|signing|encryption)_?key|secret|passphrase|credentials?|(access|auth|api|bearer|hf|refresh)_?token|token|authorization|cookie|signature|webhook(_?url)?)$/

/** Names of environment variables, for example `OPENAI_KEY`. */
const secretVariable = /^[A-Z][A-Z\d_]*_(KEY|PASS|PAT|PWD)$/

const isSecret = (name: string): boolean =>
  secretVariable.test(name) ||
  /passw(or)?d$/i.test(name) ||
  secretName.test(
    name
      .replaceAll(/([a-z\d])([A-Z])/g, "$1_$2")
      .replaceAll(/[-.\s]/g, "_")
      .toLowerCase()
  )

/** User and password in a URL, or a token in their place. */
const credentials = /(\w:\/\/)[^/\s@?#]+@/g
/** A parameter of a URL. */
const parameter = /([?&])([\w.-]+)=([^&#\s]+)/g
/** Content of a request header. */
const bearer = /\b(Bearer|Basic) +[\w.~+/=-]{20,}/gi

const withoutCredentials = (text: string): string =>
  text
    .replaceAll(credentials, "$1***@")
    .replaceAll(parameter, (all, mark: string, name: string) =>
      isSecret(name) || /^(key|sig)$/i.test(name) ? `${mark}${name}=***` : all
    )
    .replaceAll(bearer, "$1 ***")

/** Removes settings named like a secret, at any depth, and passwords, keys and tokens in addresses and headers. */
export const withoutSecrets = (config: { readonly [name: string]: unknown }): { readonly [name: string]: unknown } => {
  const clean = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(clean)
    if (typeof value === "string") return withoutCredentials(value)
    if (typeof value !== "object" || value === null) return value
    return Object.fromEntries(
      Object.entries(value).flatMap(([name, inner]) => (isSecret(name) ? [] : [[name, clean(inner)]]))
    )
  }
  // An object in, an object out.
  return clean(config) as { readonly [name: string]: unknown }
}
