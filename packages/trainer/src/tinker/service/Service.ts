/** Assembles the parts of the Tinker server for its routes. */
import { Effect, type FileSystem, type Path, Schema, type Scope } from "effect"
import * as Engine from "../../engine/Engine.ts"
import type { EngineSettings } from "../../engine/EngineSettings.ts"
import type { DeviceKind, Executor } from "../../exec/Executor.ts"
import * as Pieces from "../../base/Pieces.ts"
import * as DecodeGraph from "../../engine/DecodeGraph.ts"
import * as Model from "../../model/Model.ts"
import * as Adapters from "./Adapters.ts"
import * as CheckpointFolder from "./CheckpointFolder.ts"
import * as Futures from "./Futures.ts"
import * as Graphs from "./Graphs.ts"
import * as Policies from "./Policies.ts"
import * as Samplers from "./Samplers.ts"
import * as Sessions from "./Sessions.ts"
import type { ServerSettings } from "./ServerSettings.ts"

export interface Service {
  readonly base: Model.Model
  /** Names of the base model for clients; the first is the canonical one. */
  readonly names: ReadonlyArray<string>
  /** Name by which clients load the tokenizer: a folder or hub id. */
  readonly tokenizerId: string
  readonly sessions: Sessions.Sessions
  readonly futures: Futures.Futures
  readonly samplers: Samplers.Samplers
  readonly checkpoints: CheckpointFolder.CheckpointFolder
  readonly settings: ServerSettings
  readonly limits: { readonly maxSequenceTokens: number; readonly vocabSize: number }
}

export interface Options {
  /** A model with frozen weights; its own adapter is ignored. */
  readonly base: Model.Model
  readonly names: ReadonlyArray<string>
  readonly tokenizerId: string
  readonly folder: string
  readonly settings: ServerSettings
  /** Device for sampling; training runs on the executor's. */
  readonly device: DeviceKind
  /** Memory limit of the process, bytes. Default: the available memory. */
  readonly memory?: number
  /** Cache sizes of the sampler. Default: the engine's. */
  readonly caches?: Pick<EngineSettings, "kvMemoryMegabytes" | "prefixCacheMegabytes">
}

/** The server's parts cannot be created: its folder is not writable, or the sampler rejects the model. */
export class ServiceError extends Schema.TaggedError<ServiceError>()("ServiceError", {
  message: Schema.String,
  cause: Schema.Defect()
}) {}

const failed = (what: string) => (cause: { readonly message: string }) =>
  new ServiceError({ message: `${what}: ${cause.message}`, cause })

/** Max bytes of results kept for clients, in total. */
const keptBytes = 512 * 2 ** 20
const keptMillis = 30 * 60 * 1000

export const make = Effect.fnUntraced(function* ({
  base,
  caches,
  device,
  folder,
  memory,
  names,
  settings,
  tokenizerId
}: Options): Effect.fn.Return<Service, ServiceError, Executor | FileSystem.FileSystem | Path.Path | Scope.Scope> {
  const { config, tokenizer } = base
  const widest = Adapters.adapt(base, { rank: settings.maxRank, trainAttn: true, trainMlp: true }, settings.loraAlpha)
  const decoding = yield* Pieces.yielding(() => DecodeGraph.makePieces(Model.decodable(widest)))
  const engine = yield* Engine.make({
    model: decoding,
    initial: { policy: Policies.base, policyVersion: 0, parameters: new Float32Array(widest.layout.size) },
    device,
    // Admission is at `Samplers.admit`: an admitted request is not rejected later.
    settings: { maxWaiting: 1_000_000, ...caches }
  }).pipe(Effect.mapError(failed("the model cannot be sampled from")))
  const limits = { maxSequenceTokens: config.maxPositions, vocabSize: config.vocabSize }
  const checkpoints = yield* CheckpointFolder.make(folder, base).pipe(
    Effect.mapError(failed(`checkpoints cannot be kept in ${folder}`))
  )
  const graphs = yield* Graphs.make(base, settings.tokenBudget, memory)
  const futures = yield* Futures.make({ keptMillis, keptBytes })
  const endTokenIds = [
    ...new Set([...config.eosTokenIds, ...(tokenizer.eosTokenId === undefined ? [] : [tokenizer.eosTokenId])])
  ]
  const samplers = yield* Samplers.make({
    base,
    engine,
    checkpoints,
    widest,
    endTokenIds,
    maxPolicies: settings.maxPolicies,
    maxSamples: settings.maxSamples,
    ...limits
  })
  const sessions = yield* Sessions.make({ base, graphs, checkpoints, samplers, futures, settings })
  yield* Effect.forkScoped(
    Effect.forever(
      Effect.gen(function* () {
        yield* checkpoints.sweep
        yield* Effect.sleep("15 seconds")
        yield* sessions.sweep
        yield* samplers.sweep(1000 * settings.snapshotSeconds)
      })
    )
  )
  return { base, names, tokenizerId, sessions, futures, samplers, checkpoints, settings, limits }
})
