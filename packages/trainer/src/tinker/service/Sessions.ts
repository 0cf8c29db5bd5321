/**
 * Manages client sessions and their models. A session lives as long as its heartbeats arrive or it receives requests;
 * its models, results and sampling sessions end with it, but never named checkpoints.
 */
import { Clock, Deferred, Effect, Exit, Scope } from "effect"
import { randomInt, randomUUID } from "node:crypto"
import * as OptimizerThread from "../../local/OptimizerThread.ts"
import type { Model } from "../../model/Model.ts"
import * as Adapters from "./Adapters.ts"
import type { CheckpointFolder, Saved } from "./CheckpointFolder.ts"
import * as CheckpointPath from "./CheckpointPath.ts"
import { busy, gone, notFound, type OperationFailed, type Refused, wrong } from "./Failures.ts"
import type { Futures } from "./Futures.ts"
import type { Graphs } from "./Graphs.ts"
import * as Operations from "./Operations.ts"
import type { Samplers } from "./Samplers.ts"
import type { ServerSettings } from "./ServerSettings.ts"
import * as TrainedModel from "./TrainedModel.ts"

export interface Session {
  readonly id: string
  readonly metadata: Readonly<Record<string, unknown>> | undefined
  /** By the client's number. */
  readonly models: Map<number, TrainingModel>
  seenAt: number
}

/** Max size of the bodies of all waiting operations. */
const maxQueuedBytes = 512 * 2 ** 20

export interface TrainingModel {
  readonly id: string
  readonly session: string
  /** The name that the client uses. */
  readonly baseModel: string
  readonly metadata: Readonly<Record<string, unknown>> | undefined
  readonly operations: Operations.Operations
  readonly ready: Deferred.Deferred<TrainedModel.TrainedModel, OperationFailed>
  readonly scope: Scope.Closeable
  /** Set once it is created. */
  kind: Adapters.Kind | undefined
  trained: TrainedModel.TrainedModel | undefined
  usedAt: number
}

export interface NewModel {
  readonly number: number
  readonly baseModel: string
  readonly metadata: Readonly<Record<string, unknown>> | undefined
}

export type Beginning =
  | { readonly from: "scratch"; readonly kind: Adapters.Kind; readonly seed: number | undefined }
  | { readonly from: "checkpoint"; readonly saved: Saved; readonly withOptimizer: boolean }

export interface Options {
  readonly base: Model
  readonly graphs: Graphs
  readonly checkpoints: CheckpointFolder
  readonly samplers: Samplers
  readonly futures: Futures
  readonly settings: ServerSettings
}

export interface Sessions {
  /** Also keeps the session alive. */
  readonly sessionOf: (id: string) => Effect.Effect<Session, Refused>
  readonly modelOf: (id: string) => Effect.Effect<TrainingModel, Refused>
  readonly all: () => ReadonlyArray<Session>
  readonly models: () => ReadonlyArray<TrainingModel>
  readonly open: (metadata: Session["metadata"]) => Effect.Effect<Session, Refused>
  /** The model of that number, whose future is `createdId`; created if it does not exist. */
  readonly createModel: (
    session: Session,
    model: NewModel,
    beginning: Beginning
  ) => Effect.Effect<TrainingModel, Refused>
  readonly unload: (model: TrainingModel) => Effect.Effect<void>
  readonly end: (session: Session) => Effect.Effect<void>
  /** Ends sessions without heartbeats. */
  readonly sweep: Effect.Effect<void>
}

export const createdId = ({ id }: Pick<TrainingModel, "id">): string => `${id}:created`

const createdAnswer = (
  { baseModel, id }: TrainingModel,
  { adapter, kind }: Adapters.Adapted,
  beginning: Beginning
) => ({
  model_id: id,
  base_model: baseModel,
  lora_config: {
    rank: kind.rank,
    alpha: adapter.alpha,
    train_attn: kind.trainAttn,
    train_mlp: kind.trainMlp,
    train_unembed: false
  },
  ...(beginning.from === "checkpoint"
    ? { type: "load_weights", path: CheckpointPath.of(beginning.saved) }
    : { type: "create_model" })
})

const start = Effect.fnUntraced(function* (
  { base, checkpoints, settings }: Options,
  beginning: Beginning
): Effect.fn.Return<{ model: Adapters.Adapted; snapshot: OptimizerThread.Snapshot }, OperationFailed> {
  if (beginning.from === "checkpoint") {
    const { saved, withOptimizer } = beginning
    if (withOptimizer) return yield* checkpoints.readState(saved)
    const { model, parameters } = yield* checkpoints.readWeights(saved)
    return { model, snapshot: OptimizerThread.fresh(parameters) }
  }
  const { kind, seed = randomInt(2 ** 31) } = beginning
  const model = Adapters.adapt(base, kind, settings.loraAlpha)
  return { model, snapshot: OptimizerThread.fresh(yield* Adapters.initial(model, seed)) }
})

interface Parts extends Options {
  readonly owner: Scope.Scope
  readonly models: Map<string, TrainingModel>
  readonly budget: Operations.QueueBudget
}

/** Loads a model's initial state; rejects a rank that is too large. */
const begin = (options: Parts, entry: TrainingModel, beginning: Beginning) =>
  Effect.gen(function* () {
    const { graphs, settings } = options
    // Before anything is allocated for it.
    const rank = beginning.from === "scratch" ? beginning.kind.rank : beginning.saved.info.rank
    if (rank > settings.maxRank) {
      return yield* wrong(`the rank ${rank} is more than this server allows: ${settings.maxRank} (--max_rank)`)
    }
    const { model, snapshot } = yield* start(options, beginning)
    const { kind } = model
    const trained = yield* Scope.provide(TrainedModel.make(graphs, model, snapshot), entry.scope)
    entry.kind = kind
    entry.trained = trained
    return trained
  }).pipe(Effect.onExit((exit) => Deferred.done(entry.ready, exit)))

const makeModel = (options: Parts): Sessions["createModel"] =>
  Effect.fnUntraced(function* (session, { baseModel, metadata, number }, beginning) {
    const { futures, models, owner, budget, settings } = options
    const id = `${session.id}:train:${number}`
    const known = session.models.get(number)
    if (known !== undefined) return known
    if (models.size >= settings.maxModels) {
      return yield* busy(`${models.size} models are already in training: unload one, or retry later`)
    }
    const usedAt = yield* Clock.currentTimeMillis
    const scope = yield* Scope.fork(owner)
    const { gapSeconds, maxQueued: maxWaiting } = settings
    const entry: TrainingModel = {
      id,
      session: session.id,
      baseModel,
      metadata,
      operations: yield* Scope.provide(Operations.make({ model: id, futures, maxWaiting, gapSeconds, budget }), scope),
      ready: Deferred.makeUnsafe<TrainedModel.TrainedModel, OperationFailed>(),
      scope,
      kind: undefined,
      trained: undefined,
      usedAt
    }
    session.models.set(number, entry)
    models.set(id, entry)
    const made = begin(options, entry, beginning).pipe(
      Effect.map(({ model }) => ({ json: () => createdAnswer(entry, model, beginning) })),
      // It could not be created: its future contains the reason.
      Effect.tapError(() =>
        Effect.andThen(
          Effect.sync(() => models.delete(id)),
          Scope.close(scope, Exit.void)
        )
      )
    )
    yield* futures.promise(createdId(entry), session.id, made)
    return entry
  })

export const make = Effect.fnUntraced(function* (options: Options): Effect.fn.Return<Sessions, never, Scope.Scope> {
  const { futures, samplers, settings } = options
  const owner = yield* Effect.scope
  const sessions = new Map<string, Session>()
  const models = new Map<string, TrainingModel>()
  const budget: Operations.QueueBudget = { bytes: 0, maxBytes: maxQueuedBytes }

  const sessionOf = (id: string): Effect.Effect<Session, Refused> =>
    Effect.gen(function* () {
      const found = sessions.get(id)
      if (found === undefined) {
        return yield* gone(`session not found: ${id}; it ended, or the server was restarted`)
      }
      found.seenAt = yield* Clock.currentTimeMillis
      return found
    })

  const modelOf = (id: string): Effect.Effect<TrainingModel, Refused> =>
    Effect.gen(function* () {
      const found = models.get(id)
      if (found === undefined) {
        return yield* notFound(`model not found: ${id}; its session ended, or the server was restarted`)
      }
      found.usedAt = yield* Clock.currentTimeMillis
      const session = sessions.get(found.session)
      if (session !== undefined) session.seenAt = found.usedAt
      return found
    })

  const unload = (model: TrainingModel) =>
    Effect.gen(function* () {
      models.delete(model.id)
      yield* futures.forget(model.id)
      yield* Scope.close(model.scope, Exit.void)
    })

  const end = (session: Session) =>
    Effect.gen(function* () {
      sessions.delete(session.id)
      for (const model of session.models.values()) yield* unload(model)
      yield* futures.forget(session.id)
      yield* samplers.endSession(session.id)
    })

  return {
    sessionOf,
    modelOf,
    all: () => [...sessions.values()],
    models: () => [...models.values()],
    open: (metadata) =>
      Effect.gen(function* () {
        if (sessions.size >= settings.maxSessions) {
          return yield* busy(`${sessions.size} sessions are already open: end one, or retry later`)
        }
        const id = randomUUID()
        const session: Session = { id, metadata, models: new Map(), seenAt: yield* Clock.currentTimeMillis }
        sessions.set(id, session)
        return session
      }),
    createModel: makeModel({ ...options, owner, models, budget }),
    unload: (model) =>
      Effect.gen(function* () {
        for (const [number, one] of sessions.get(model.session)?.models ?? []) {
          if (one === model) sessions.get(model.session)?.models.delete(number)
        }
        yield* unload(model)
      }),
    end,
    sweep: Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      for (const session of sessions.values()) {
        const isBusy = [...session.models.values()].some(({ operations }) => operations.isBusy())
        if (isBusy || now - session.seenAt <= 1000 * settings.sessionSeconds) continue
        yield* Effect.logInfo("session expired without heartbeats", { session: session.id })
        yield* end(session)
      }
    })
  }
})
