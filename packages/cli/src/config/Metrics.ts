/**
 * Configures the metrics of a command: flags `--metrics.<field>`, the map `metrics:` of a YAML file, and the sinks they
 * select.
 *
 * `--metrics_port` is `--metrics.port`, and all flags may be written with dashes. The libraries of a sink are loaded on
 * demand.
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

export const { booleans, flags } = derived

/** Flags for commands that are traced but have no metrics of their own. */
export const telemetryFlags: Flags.SettingsFlags = Struct.pick(flags, ["otlp_endpoint", "trace_sample"])

const names = new Set(
  Object.keys(MetricsSettings.settings.fields).map((field) => `--${prefix}${Settings.wireName(field)}`)
)

/** Rewrites these flags in the arguments to their declared spelling. */
export const normalizeArgs = (words: ReadonlyArray<string>): ReadonlyArray<string> =>
  words.map((word) => {
    const [flag = "", ...value] = word.split("=")
    const underscored = `--${flag.slice(2).replaceAll("-", "_")}`
    const known = underscored === "--metrics_port" ? `--${prefix}port` : underscored
    return flag.startsWith("--") && names.has(known) ? [known, ...value].join("=") : word
  })

export const make = Effect.fn("Metrics.make")(function* (
  input: { readonly [name: string]: Option.Option<unknown> },
  file: Values = {},
  mode: Values = {}
) {
  const flagged = Flags.provided(input)
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

export interface Target {
  readonly folder: string
  /** The original's `use_wandb`, and whether it was set explicitly. */
  readonly useWandb: { readonly value: boolean; readonly isGiven: boolean }
}

type Needs = FileSystem.FileSystem | Path.Path | HttpClient.HttpClient

const wandbVariables = Config.all({
  key: Config.option(Config.Redacted("WANDB_API_KEY")),
  baseUrl: Config.String("WANDB_BASE_URL").pipe(Config.withDefault("https://api.wandb.ai")),
  entity: Config.option(Config.NonEmptyString("WANDB_ENTITY")),
  mode: Config.option(Config.String("WANDB_MODE"))
})

/** The server of Weights & Biases and its API key; none without a key. */
export const wandbServer = Effect.map(Effect.orDie(wandbVariables), ({ baseUrl, key }) =>
  Option.map(key, (apiKey) => ({ baseUrl, apiKey }))
)

/**
 * The mode of Weights & Biases: `--metrics.wandb` if set, otherwise `use_wandb`, which without a key only counts if set
 * explicitly. Without a key the run is offline.
 */
const wandbOf = Effect.fn("Metrics.wandbOf")(function* (
  settings: MetricsSettings.MetricsSettings,
  { useWandb }: Pick<Target, "useWandb">
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

/** The sinks that work without a trajectory service. */
const sinksOf = Effect.fn("Metrics.sinksOf")(function* (settings: MetricsSettings.MetricsSettings, target: Target) {
  const folder = settings.folder ?? target.folder
  const sinks: Array<Effect.Effect<MetricsSink.Sink, never, Needs | Scope.Scope>> = []
  const wandb = yield* wandbOf(settings, target)
  // Rows that Weights & Biases misses are uploaded from the file.
  if (settings.file || Option.isSome(wandb)) sinks.push(FileSink.make(folder))
  if (settings.tensorboard) {
    const TensorBoardSink = yield* Effect.promise(() => import("@atropos/core/metrics/TensorBoardSink"))
    sinks.push(TensorBoardSink.make(folder))
  }
  if (settings.port !== null || Option.isSome(yield* collectorOf(settings))) {
    const { sink } = yield* Effect.promise(() => import("@atropos/core/metrics/GaugeSink"))
    sinks.push(Effect.succeed(sink))
  }
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
        report: Console.error
      })
    )
  }
  return sinks
})

const prometheus = ({ host, port }: MetricsSettings.MetricsSettings) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      if (port === null) return
      const { start } = yield* Effect.promise(() => import("@atropos/core/metrics/PrometheusServer"))
      const { url } = yield* start({ host, port })
      yield* Effect.forkScoped(Effect.flatMap(url, (address) => Console.error(`metrics at ${address}`)))
    })
  )

/** The selected sinks, plus the trajectory service if the command has one. */
const sinkLayer = <R>(
  settings: MetricsSettings.MetricsSettings,
  target: Target,
  more: ReadonlyArray<Effect.Effect<MetricsSink.Sink, never, R>>
) =>
  Layer.unwrap(
    Effect.map(sinksOf(settings, target), (sinks) =>
      MetricsSink.layer<never, Needs | Scope.Scope | R>([...sinks, ...more], {
        flushWithin: settings.flushSeconds * 1000
      }).pipe(Layer.merge(prometheus(settings)))
    )
  ).pipe(Layer.provide(NodeHttpClient.layerUndici))

/** The selected sinks of a command with a trajectory service. */
export const layer = (
  settings: MetricsSettings.MetricsSettings,
  target: Target
): Layer.Layer<
  MetricsSink.MetricsSink,
  UsageError,
  FileSystem.FileSystem | Path.Path | TelemetryClient.TelemetryClient
> => sinkLayer(settings, target, settings.service ? [ServiceSink.make] : [])

/** The selected sinks of a command without a trajectory service. */
export const layerAlone = (
  settings: MetricsSettings.MetricsSettings,
  target: Target
): Layer.Layer<MetricsSink.MetricsSink, UsageError, FileSystem.FileSystem | Path.Path> =>
  sinkLayer(settings, target, [])

/** The OpenTelemetry collector, if configured. */
const collectorOf = ({ otlpEndpoint }: Pick<MetricsSettings.MetricsSettings, "otlpEndpoint">) =>
  otlpEndpoint === null
    ? Effect.orDie(Config.option(Config.NonEmptyString("OTEL_EXPORTER_OTLP_ENDPOINT")))
    : Effect.succeedSome(otlpEndpoint)

/** Sends traces and metrics of a command to the collector; without one tracing is disabled at no cost. */
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

/** The equivalent for a command with `telemetryFlags` only. */
export const tracedBy =
  (input: Parameters<typeof make>[0], serviceName: string) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | UsageError, R> =>
    Effect.flatMap(make(input), (settings) => traced(settings, serviceName)(effect))

/**
 * The Weights & Biases project and group a trainer announces to its environments; generated if unset, so that the whole
 * run is in one group.
 */
export const announcement = Effect.fn("Metrics.announced")(function* (
  settings: MetricsSettings.MetricsSettings,
  target: Target,
  {
    run,
    wandbGroup,
    wandbProject
  }: { readonly run: string; readonly wandbGroup: string; readonly wandbProject: string }
) {
  if (Option.isNone(yield* wandbOf(settings, target))) return { wandbGroup, wandbProject }
  const WandbSink = yield* Effect.promise(() => import("@atropos/core/metrics/wandb/WandbSink"))
  return {
    wandbProject: wandbProject || settings.wandbProject || WandbSink.defaultProject,
    wandbGroup: wandbGroup || settings.wandbGroup || (yield* WandbSink.nameOf(run))
  }
})
