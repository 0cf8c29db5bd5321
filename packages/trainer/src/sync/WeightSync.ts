/**
 * Pushes new weights to samplers: vLLM, SGLang and policy servers, and the engine in this process, in parallel.
 *
 * Every version has a unique name (`<name>-<run>-v<version>`), so that every request's policy version is known. A
 * failing target is retried on a bounded schedule, visible in logs, metrics and `status`; it keeps serving its previous
 * weights and does not delay others. A newer version supersedes a pending one. Older versions are unloaded after
 * `grace` more, and folders removed once no target uses them.
 *
 * Servers read adapters from `folder`, which a server on another machine must share, as `remoteFolder`.
 */
import {
  Context,
  Deferred,
  Duration,
  Effect,
  FileSystem,
  Layer,
  Path,
  Random,
  type Redacted,
  Result,
  Schema,
  type Scope
} from "effect"
import { HttpClient } from "effect/http"
import * as AdapterFolders from "./AdapterFolders.ts"
import * as Sglang from "./Sglang.ts"
import { type Adapter, type Probe, type Target, TargetError } from "./Target.ts"
import * as TargetWorker from "./TargetWorker.ts"
import * as Vllm from "./Vllm.ts"
import * as VllmWeights from "./VllmWeights.ts"

export { inProcess } from "./InProcess.ts"
export { sglang } from "./Sglang.ts"
export type { Probe, Target } from "./Target.ts"
export { TargetError } from "./Target.ts"
export type { Status } from "./TargetWorker.ts"
export { policyServer, vllm } from "./Vllm.ts"
export { vllmWeights } from "./VllmWeights.ts"

/** Some targets did not take a version; the others have it. */
export class WeightSyncError extends Schema.TaggedError<WeightSyncError>()("WeightSyncError", {
  version: Schema.Int,
  failures: Schema.Array(Schema.Struct({ target: Schema.String, message: Schema.String }))
}) {
  override get message(): string {
    const list = this.failures.map(({ message, target }) => `${target}: ${message}`).join("; ")
    return `weights of version ${this.version} did not reach ${this.failures.length} target(s): ${list}`
  }
}

export class UnknownTarget extends Schema.TaggedError<UnknownTarget>()("UnknownTarget", {
  target: Schema.String
}) {
  override get message(): string {
    return `"${this.target}" is not a valid weight target: vllm+http://host:port, sglang+http://host:port or policy+http://host:port`
  }
}

/** Weights of one version. */
export interface Weights extends AdapterFolders.Source {
  readonly version: number
  /** Logprobs of a known sequence under them, for targets that verify arrival. */
  readonly probe?: Probe
}

export interface Shape {
  /**
   * Completes when every target serves these weights or newer ones; fails if a target has exhausted its attempts, after
   * the others are done.
   */
  readonly push: (weights: Weights) => Effect.Effect<void, WeightSyncError>
  /**
   * Starts a push and waits for one attempt at each target; retries continue in the background. Never fails, so that
   * training continues.
   */
  readonly publish: (weights: Weights) => Effect.Effect<void>
  readonly status: Effect.Effect<ReadonlyArray<TargetWorker.Status>>
}

export class WeightSync extends Context.Service<WeightSync, Shape>()("@atropos/trainer/sync/WeightSync") {}

export interface Options {
  readonly targets: ReadonlyArray<Target>
  readonly folder: string
  /** Path of `folder` on the servers' machines. Default: the same. */
  readonly remoteFolder?: string
  /** Prefix of adapter names. Default `policy`. */
  readonly name?: string
  /** Distinguishes runs that push to one server. Default: random. */
  readonly run?: string
  readonly writeAdapter?: AdapterFolders.WriteAdapter
  readonly readAdapter?: (folder: string) => Effect.Effect<Float32Array, { readonly message: string }>
  /** Number of versions that stay loaded besides the newest. Default 2. */
  readonly grace?: number
  /** Attempts per push and target. Default 8. */
  readonly attempts?: number
  /** Default 250 ms, doubled for each attempt up to `maxDelay` (10 s), times a random factor between 0.5 and 1. */
  readonly firstDelay?: Duration.Input
  readonly maxDelay?: Duration.Input
  /** Default 60 s. */
  readonly attemptTime?: Duration.Input
  /** Interval at which targets are polled for their weights. Default 10 s. */
  readonly watch?: Duration.Input
}

export const make = Effect.fn("WeightSync.make")(function* (
  options: Options
): Effect.fn.Return<Shape, never, FileSystem.FileSystem | Path.Path | Scope.Scope> {
  const files = yield* Effect.context<FileSystem.FileSystem | Path.Path>()
  const path = yield* Path.Path
  const { folder: input, name: base = "policy", readAdapter, remoteFolder, writeAdapter } = options
  const root = path.resolve(input)
  const run = options.run ?? (yield* Random.nextIntBetween(0, 16 ** 6)).toString(16).padStart(6, "0")
  /** Paths of the folders that were written. */
  const names = new Set<string>()
  const pushesOf = new Map<number, number>()
  const workers: Array<TargetWorker.TargetWorker> = []

  const sweep = Effect.gen(function* () {
    for (const name of names) {
      if (workers.some(({ uses }) => uses(name))) continue
      names.delete(name)
      yield* Effect.ignore(AdapterFolders.remove(root, name), { log: "Warn" })
    }
  }).pipe(Effect.provideContext(files))

  for (const target of options.targets) {
    workers.push(
      yield* TargetWorker.make(target, {
        attempts: options.attempts ?? 8,
        firstDelay: Duration.fromInputUnsafe(options.firstDelay ?? "250 millis"),
        maxDelay: Duration.fromInputUnsafe(options.maxDelay ?? "10 seconds"),
        attemptTime: Duration.fromInputUnsafe(options.attemptTime ?? "60 seconds"),
        watch: Duration.fromInputUnsafe(options.watch ?? "10 seconds"),
        grace: options.grace ?? 2,
        onReleased: sweep
      })
    )
  }

  const adapterOf = Effect.fnUntraced(function* (weights: Weights) {
    const { parameters, probe, version } = weights
    const repeats = pushesOf.get(version) ?? 0
    pushesOf.set(version, repeats + 1)
    const name = `${base}-${run}${repeats === 0 ? "" : `-${repeats + 1}`}-v${version}`
    const written = yield* Effect.cached(
      Effect.suspend(() => {
        names.add(name)
        return AdapterFolders.write(root, name, weights, writeAdapter)
      }).pipe(Effect.provideContext(files))
    )
    // Now, whenever a target first reads it: what writes has other weights after the next step.
    if (weights.write !== undefined) yield* Effect.ignore(written)
    const folder = Effect.map(written, (local) =>
      remoteFolder === undefined ? local : `${remoteFolder.replace(/(?<!\/)\/+$/, "")}/${name}`
    )
    const read =
      parameters !== undefined
        ? Effect.succeed(parameters)
        : readAdapter !== undefined
          ? Effect.flatMap(written, (local) => Effect.mapError(readAdapter(local), unreadable(local)))
          : Effect.fail(unreadable(name)({ message: "neither parameters nor readAdapter were provided" }))
    return { name, version, folder, parameters: yield* Effect.cached(read), ...(probe && { probe }) } satisfies Adapter
  })

  const hand = Effect.fnUntraced(function* (weights: Weights) {
    const adapter = yield* adapterOf(weights)
    return yield* Effect.forEach(workers, ({ offer }) => offer(adapter))
  })

  return {
    push: Effect.fn("WeightSync.push")(function* (weights) {
      const jobs = yield* hand(weights)
      const outcomes = yield* Effect.forEach(jobs, ({ done }) => Effect.result(Deferred.await(done)), {
        concurrency: "unbounded"
      })
      const failures = outcomes.flatMap((outcome, index) =>
        Result.isFailure(outcome) ? [{ target: options.targets[index]!.name, message: outcome.failure.message }] : []
      )
      if (failures.length > 0) return yield* new WeightSyncError({ version: weights.version, failures })
    }),
    publish: Effect.fn("WeightSync.publish")(function* (weights) {
      const jobs = yield* hand(weights)
      yield* Effect.forEach(jobs, ({ attempted }) => Deferred.await(attempted), {
        concurrency: "unbounded",
        discard: true
      })
    }),
    status: Effect.forEach(workers, ({ status }) => status)
  }
})

const unreadable = (folder: string) => (cause: { readonly message: string }) =>
  new TargetError({
    target: "adapter folder",
    message: `cannot read the adapter in ${folder}: ${cause.message}`,
    isPermanent: true,
    cause
  })

export const layer = (options: Options): Layer.Layer<WeightSync, never, FileSystem.FileSystem | Path.Path> =>
  Layer.effect(WeightSync, make(options))

const address = /^(vllm|sglang|policy)\+(https?:\/\/\S+)$/

/** The trained and pushed weights: an adapter, or all weights of the model. */
export type Trains = "adapter" | "all"

/** All weights are trained, but a server only takes adapters. */
export class AdaptersOnly extends Schema.TaggedError<AdaptersOnly>()("AdaptersOnly", { target: Schema.String }) {
  override get message(): string {
    return `${this.target} takes adapters only, but all weights are trained: push to vLLM (vllm+http://host:port), or train an adapter (--trains adapter)`
  }
}

/** Creates the target of a setting, e.g. `vllm+http://host:8000`; requests carry the key if given. */
export const targetOf = Effect.fn("WeightSync.targetOf")(function* (
  setting: string,
  apiKey?: Redacted.Redacted,
  trains: Trains = "adapter"
): Effect.fn.Return<Target, UnknownTarget | AdaptersOnly, HttpClient.HttpClient> {
  const [, kind, url = ""] = address.exec(setting) ?? []
  if (kind === undefined || !URL.canParse(url)) return yield* new UnknownTarget({ target: setting })
  const options = { url, ...(apiKey !== undefined && { apiKey }) }
  if (trains === "all") {
    if (kind !== "vllm") return yield* new AdaptersOnly({ target: setting })
    return yield* VllmWeights.vllmWeights(options)
  }
  const make = { vllm: Vllm.vllm, sglang: Sglang.sglang, policy: Vllm.policyServer }[
    kind as "vllm" | "sglang" | "policy"
  ]
  return yield* make(options)
})
