/**
 * Where a command's metrics go: flags `--metrics.<field>`, the map `metrics:` of a YAML file, and the sinks that they
 * name.
 *
 * `--metrics_port` is `--metrics.port`, and all may be written with dashes. What a sink needs is loaded when it is
 * chosen.
 */
import { MetricsSettings, MetricsSink, Settings, type TelemetryClient } from "@atropos/core"
import * as FileSink from "@atropos/core/metrics/FileSink"
import * as ServiceSink from "@atropos/core/metrics/ServiceSink"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Config, Console, Effect, type FileSystem, Layer, Option, type Path, type Scope, Struct } from "effect"
import type { HttpClient } from "effect/http"
import { UsageError } from "../base/Failure.ts"
import * as Flags from "./Flags.ts"
import * as Precedence from "./Precedence.ts"
import { explain } from "./RunSettings.ts"

type Values = { readonly [name: string]: unknown }

const prefix = "metrics."
const derived = Flags.fromFields(prefix, MetricsSettings.settings.fields)

/** The flags, as part of a command's configuration. */
export const { booleans, flags } = derived

/** The flags of commands that are traced and have no figures of their own. */
export const telemetryFlags: Flags.SettingsFlags = Struct.pick(flags, ["otlp_endpoint", "trace_sample"])

const names = new Set(
  Object.keys(MetricsSettings.settings.fields).map((field) => `--${prefix}${Settings.wireName(field)}`)
)

/** The words with these flags spelled as they are declared. */
export const spell = (words: ReadonlyArray<string>): ReadonlyArray<string> =>
  words.map((word) => {
    const [flag = "", ...value] = word.split("=")
    const underscored = `--${flag.slice(2).replaceAll("-", "_")}`
    const known = underscored === "--metrics_port" ? `--${prefix}port` : underscored
    return flag.startsWith("--") && names.has(known) ? [known, ...value].join("=") : word
  })

/** All sources merged and checked. */
export const make = Effect.fn("Metrics.make")(function* (
  given: { readonly [name: string]: Option.Option<unknown> },
  file: Values = {},
  mode: Values = {}
) {
  const flagged = Flags.given(given)
  const values = Precedence.merge(mode, file, flagged)
  return yield* MetricsSettings.settings
    .decode(values)
    .pipe(
      Effect.mapError((error) =>
        explain(error, values, (name) =>
          name in flagged ? `--${prefix}${name}` : `metrics.${name}${name in file ? " in the file of --config" : ""}`
        )
      )
    )
})

export interface Place {
  /** Where files go unless the settings say otherwise. */
  readonly folder: string
  /** The original's `use_wandb`, and whether somebody gave it. */
  readonly useWandb: { readonly value: boolean; readonly isGiven: boolean }
}

type Needs = FileSystem.FileSystem | Path.Path | HttpClient.HttpClient

const wandbVariables = Config.all({
  key: Config.option(Config.Redacted("WANDB_API_KEY")),
  baseUrl: Config.String("WANDB_BASE_URL").pipe(Config.withDefault("https://api.wandb.ai")),
  entity: Config.option(Config.NonEmptyString("WANDB_ENTITY")),
  mode: Config.option(Config.String("WANDB_MODE"))
})

/** The server of Weights & Biases and the key for it; none without a key. */
export const wandbServer = Effect.map(Effect.orDie(wandbVariables), ({ baseUrl, key }) =>
  Option.map(key, (apiKey) => ({ baseUrl, apiKey }))
)

/**
 * How Weights & Biases is used: as `--metrics.wandb` says; where that says nothing, as `use_wandb` does, and without a
 * key only if somebody asked. Without a key it is offline.
 */
const wandbOf = Effect.fn("Metrics.wandbOf")(function* (
  settings: MetricsSettings.MetricsSettings,
  { useWandb }: Pick<Place, "useWandb">
) {
  const { entity, mode: variable } = yield* Effect.orDie(wandbVariables)
  const server = yield* wandbServer
  const hasKey = Option.isSome(server)
  const mode = settings.wandbMode ?? Option.getOrElse(variable, () => (hasKey ? "online" : "offline"))
  const isWanted = settings.wandb ?? (useWandb.value && (hasKey || useWandb.isGiven))
  if (!isWanted || mode === "disabled") return Option.none()
  if (mode === "online" && !hasKey) {
    return yield* new UsageError({
      message: "--metrics.wandb_mode online needs an API key in WANDB_API_KEY; offline writes the run to a folder"
    })
  }
  return Option.some({
    server: mode === "offline" ? undefined : Option.getOrUndefined(server),
    entity: settings.wandbEntity ?? Option.getOrNull(entity)
  })
})

/** The sinks that write without a trajectory service. */
const sinksOf = Effect.fn("Metrics.sinksOf")(function* (settings: MetricsSettings.MetricsSettings, place: Place) {
  const folder = settings.folder ?? place.folder
  const sinks: Array<Effect.Effect<MetricsSink.Sink, never, Needs | Scope.Scope>> = []
  if (settings.file) sinks.push(FileSink.make(folder))
  if (settings.tensorboard) {
    const TensorBoardSink = yield* Effect.promise(() => import("@atropos/core/metrics/TensorBoardSink"))
    sinks.push(TensorBoardSink.make(folder))
  }
  if (settings.port !== null || Option.isSome(yield* collectorOf(settings))) {
    const { sink } = yield* Effect.promise(() => import("@atropos/core/metrics/GaugeSink"))
    sinks.push(Effect.succeed(sink))
  }
  const wandb = yield* wandbOf(settings, place)
  if (Option.isSome(wandb)) {
    const WandbSink = yield* Effect.promise(() => import("@atropos/core/metrics/wandb/WandbSink"))
    sinks.push(
      WandbSink.make({
        folder,
        ...wandb.value,
        project: settings.wandbProject,
        group: settings.wandbGroup,
        name: settings.wandbName,
        runId: settings.wandbRunId,
        tell: Console.error
      })
    )
  }
  return sinks
})

/** Serves Prometheus where a port was given. */
const prometheus = ({ host, port }: MetricsSettings.MetricsSettings) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      if (port === null) return
      const { start } = yield* Effect.promise(() => import("@atropos/core/metrics/PrometheusServer"))
      const { url } = yield* start({ host, port })
      yield* Effect.forkScoped(Effect.flatMap(url, (address) => Console.error(`metrics at ${address}`)))
    })
  )

/** The chosen sinks; the trajectory service among them where the command has one. */
const sinkLayer = <R>(
  settings: MetricsSettings.MetricsSettings,
  place: Place,
  further: ReadonlyArray<Effect.Effect<MetricsSink.Sink, never, R>>
) =>
  Layer.unwrap(
    Effect.map(sinksOf(settings, place), (sinks) =>
      MetricsSink.layer<never, Needs | Scope.Scope | R>([...sinks, ...further], {
        flushWithin: settings.flushSeconds * 1000
      }).pipe(Layer.merge(prometheus(settings)))
    )
  ).pipe(Layer.provide(NodeHttpClient.layerUndici))

/** The chosen sinks of a command that has a trajectory service. */
export const layer = (
  settings: MetricsSettings.MetricsSettings,
  place: Place
): Layer.Layer<
  MetricsSink.MetricsSink,
  UsageError,
  FileSystem.FileSystem | Path.Path | TelemetryClient.TelemetryClient
> => sinkLayer(settings, place, settings.service ? [ServiceSink.make] : [])

/** The chosen sinks of a command that has none. */
export const layerAlone = (
  settings: MetricsSettings.MetricsSettings,
  place: Place
): Layer.Layer<MetricsSink.MetricsSink, UsageError, FileSystem.FileSystem | Path.Path> => sinkLayer(settings, place, [])

/** The OpenTelemetry collector, where one is named. */
const collectorOf = ({ otlpEndpoint }: Pick<MetricsSettings.MetricsSettings, "otlpEndpoint">) =>
  otlpEndpoint === null
    ? Effect.orDie(Config.option(Config.NonEmptyString("OTEL_EXPORTER_OTLP_ENDPOINT")))
    : Effect.succeedSome(otlpEndpoint)

/**
 * Runs a command with its traces and metrics going to the collector; without one nothing is traced, and nothing is
 * spent on it.
 */
export const traced =
  (settings: MetricsSettings.MetricsSettings, serviceName: string) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.flatMap(collectorOf(settings), (collector) => {
      if (Option.isNone(collector)) return Effect.withTracerEnabled(effect, false)
      const telemetry = Layer.unwrap(
        Effect.map(
          Effect.promise(() => import("@atropos/core/metrics/OpenTelemetry")),
          (OpenTelemetry) =>
            OpenTelemetry.layer({ endpoint: collector.value, serviceName, traceSample: settings.traceSample })
        )
      )
      return Effect.provide(effect, telemetry.pipe(Layer.provide(NodeHttpClient.layerUndici)))
    })

/** The same for a command with `telemetryFlags` alone. */
export const tracedBy =
  (given: Parameters<typeof make>[0], serviceName: string) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | UsageError, R> =>
    Effect.flatMap(make(given), (settings) => traced(settings, serviceName)(effect))

/**
 * What a trainer announces to the environments where its run goes to Weights & Biases: project and group, made up where
 * nobody named them, so that all of a run is in one group.
 */
export const announced = Effect.fn("Metrics.announced")(function* (
  settings: MetricsSettings.MetricsSettings,
  place: Place,
  {
    run,
    wandbGroup,
    wandbProject
  }: { readonly run: string; readonly wandbGroup: string; readonly wandbProject: string }
) {
  if (Option.isNone(yield* wandbOf(settings, place))) return { wandbGroup, wandbProject }
  const WandbSink = yield* Effect.promise(() => import("@atropos/core/metrics/wandb/WandbSink"))
  return {
    wandbProject: wandbProject || settings.wandbProject || WandbSink.defaultProject,
    wandbGroup: wandbGroup || settings.wandbGroup || (yield* WandbSink.nameOf(run))
  }
})
