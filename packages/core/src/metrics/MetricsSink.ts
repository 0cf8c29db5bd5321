/**
 * Where figures, tables and settings of a run go: files, the trajectory service, Prometheus, TensorBoard, Weights &
 * Biases, several at once.
 *
 * Environments and trainers `open` a source and record; what they record reaches every sink in the order it was
 * recorded. Recording never fails and never waits (`flush` does, for a second at most): a sink that is slow or away
 * keeps up to 10,000 entries or 32 MiB waiting (then the oldest go, and are counted), is tried again with growing
 * pauses, and is told of once. Finishing writes what waits, for as long as `flushWithin` allows. NaN and the infinities
 * are figures like others: where a run went wrong is where they are.
 *
 * Sinks are plain values made by effects (`metrics/FileSink`, `metrics/ServiceSink`, …); `layer` takes as many as there
 * are.
 */
import { Clock, Context, type Duration, Effect, type Exit, Layer, Option, type Scope } from "effect"
import * as Waiting from "../base/Waiting.ts"
import * as Feed from "./Feed.ts"
import * as ServiceSink from "./ServiceSink.ts"
import type { Figures, Sink, Source, Table } from "./Sink.ts"
import type { TelemetryClientShape } from "../service/TelemetryClient.ts"

export * from "./Sink.ts"

/** Records of one source. */
export interface Recorder {
  readonly figures: (step: number, values: Figures["values"], labels?: Figures["labels"]) => Effect.Effect<void>
  /** Whether some sink takes tables: making one may cost. */
  readonly wantsTables: boolean
  /** Waits until what was recorded is where it should be: for a second at most, and not for a sink that is away. */
  readonly flush: Effect.Effect<void>
  readonly table: (step: number, table: Pick<Table, "name" | "columns" | "rows">) => Effect.Effect<void>
  /**
   * Writes what waits and tells the sinks how the source ended. Once; later calls, and the scope's end, change nothing.
   */
  readonly finish: (exit: Exit.Exit<unknown, unknown>) => Effect.Effect<void>
}

export interface MetricsSinkShape {
  /** Finished by its scope at the latest. */
  readonly open: (source: Source) => Effect.Effect<Recorder, never, Scope.Scope>
}

export class MetricsSink extends Context.Service<MetricsSink, MetricsSinkShape>()("@atropos/core/MetricsSink") {}

export interface Options {
  /** How long finishing a source may take. Default 10 seconds. */
  readonly flushWithin?: Duration.Input
}

/** Records to all of these. */
export const make = (sinks: ReadonlyArray<Sink>, { flushWithin = "10 seconds" }: Options = {}): MetricsSinkShape => ({
  open: Effect.fnUntraced(function* (source) {
    const shown = { ...source, config: withoutSecrets(source.config) }
    const feeds = yield* Effect.forEach(sinks, (sink) => Feed.open(sink, shown, flushWithin))
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

/** The sinks that these effects make, for as long as the layer lives. */
export const layer = <E, R>(
  sinks: ReadonlyArray<Effect.Effect<Sink, E, R>>,
  options?: Options
): Layer.Layer<MetricsSink, E, Exclude<R, Scope.Scope>> =>
  Layer.effect(
    MetricsSink,
    Effect.map(Effect.all(sinks), (made) => make(made, options))
  )

/** The sinks of the context; where there are none, the trajectory service alone. */
export const orService = (client: TelemetryClientShape): Effect.Effect<MetricsSinkShape> =>
  Effect.map(Effect.serviceOption(MetricsSink), (found) =>
    Option.getOrElse(found, () => make([ServiceSink.of(client)]))
  )

const secretName =
  /(^|_)((api|secret|private|access)_?key|secret|password|passwd|credentials?|(access|auth|api|bearer|hf|refresh)_?token|token|webhook(_?url)?)$/i

/** User and password of an address. */
const credentials = /(\w:\/\/)[^/\s:@]*:[^/\s@]*@/g

/** Settings without what is named like a secret, at any depth, and without the passwords in addresses. */
export const withoutSecrets = (config: { readonly [name: string]: unknown }): { readonly [name: string]: unknown } => {
  const clean = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(clean)
    if (typeof value === "string") return value.replaceAll(credentials, "$1***@")
    if (typeof value !== "object" || value === null) return value
    return Object.fromEntries(
      Object.entries(value).flatMap(([name, inner]) => (secretName.test(name) ? [] : [[name, clean(inner)]]))
    )
  }
  // An object in, an object out.
  return clean(config) as { readonly [name: string]: unknown }
}
