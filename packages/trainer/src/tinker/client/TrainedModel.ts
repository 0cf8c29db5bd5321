/**
 * A model in training on a Tinker server: an adapter with its optimizer, whose requests are numbered.
 *
 * The numbers order the requests and make them idempotent: one sent twice is applied once. A number that never reached
 * the server cannot be skipped, so a request that is given up before it is accepted breaks the model: all later ones
 * fail with `broken`, and it has to be made anew from saved weights. One caller at a time.
 */
import { Effect, Exit, Semaphore } from "effect"
import * as Checkpoint from "../protocol/Checkpoint.ts"
import * as ForwardBackward from "../protocol/ForwardBackward.ts"
import * as ForwardBackwardResult from "../protocol/ForwardBackwardResult.ts"
import * as Model from "../protocol/Model.ts"
import * as OptimStep from "../protocol/OptimStep.ts"
import * as Paths from "../protocol/Paths.ts"
import * as Chunks from "./Chunks.ts"
import * as Futures from "./Futures.ts"
import type { Session } from "./Session.ts"
import { post } from "./Session.ts"
import { TinkerError } from "./TinkerError.ts"
import type * as Transport from "./Transport.ts"
import * as Zstd from "./Zstd.ts"

export interface Loss {
  readonly name: string
  readonly config?: ForwardBackward.LossConfig
}

export type Published = { readonly sessionId: string } | { readonly path: string }

export interface TrainedModel {
  readonly id: string
  readonly forward: (
    data: ReadonlyArray<ForwardBackward.Datum>,
    loss: Loss
  ) => Effect.Effect<ForwardBackwardResult.Result, TinkerError>
  /** Adds the gradient to those that came before it. */
  readonly forwardBackward: (
    data: ReadonlyArray<ForwardBackward.Datum>,
    loss: Loss
  ) => Effect.Effect<ForwardBackwardResult.Result, TinkerError>
  /** A step with what was added up; figures by name. */
  readonly optimStep: (params: OptimStep.AdamParams) => Effect.Effect<Readonly<Record<string, number>>, TinkerError>
  /** Weights and moments, under a name; their path. */
  readonly saveWeights: (name: string) => Effect.Effect<string, TinkerError>
  /** As the first request only. */
  readonly loadWeights: (path: string, withOptimizer: boolean) => Effect.Effect<void, TinkerError>
  /** Weights to sample from; the sampling session, or the path where the server makes none. */
  readonly saveForSampler: (samplerSeqId: number) => Effect.Effect<Published, TinkerError>
  /** Frees the server's memory; a server without it frees it with the session. */
  readonly unload: Effect.Effect<void, TinkerError>
}

export interface Options {
  readonly baseModel: string
  readonly rank: number
  readonly seed: number
}

/** Chunks of a batch that are sent at once. */
const sentAtOnce = 8

const optimStepped = Futures.jsonKind("OptimStep", OptimStep.OptimStepped)
const saved = Futures.jsonKind("SaveWeights", Checkpoint.WeightsSaved)
const loaded = Futures.jsonKind("LoadWeights", Checkpoint.WeightsLoaded)
const savedForSampler = Futures.jsonKind("SaveWeightsForSampler", Checkpoint.WeightsSavedForSampler)
const created = Futures.jsonKind("CreateModel", Model.ModelCreated)
const unloaded = Futures.jsonKind("UnloadModel", Model.ModelUnloaded)
const forward = Futures.binaryKind("Forward", ForwardBackwardResult.decode)
const forwardBackward = Futures.binaryKind("ForwardBackward", ForwardBackwardResult.decode)

const create = Effect.fnUntraced(function* (session: Session, { baseModel, rank, seed }: Options) {
  const { futures } = session
  const ask = post(Paths.post.createModel, Model.CreateModel, {
    sessionId: session.id,
    modelSeqId: session.nextModel(),
    baseModel,
    loraConfig: { rank, seed, trainUnembed: true, trainMlp: true, trainAttn: true },
    optimizerConfig: { type: "adamw" },
    type: "create_model"
  })
  const { modelId } = yield* futures.result(yield* futures.submit(ask), created, futures.submit(ask))
  return modelId
})

/** A new adapter; it is unloaded with the scope's end by whoever made it. */
export const make = Effect.fn("TrainedModel.make")(function* (session: Session, options: Options) {
  const { config, futures, server } = session
  const id = yield* create(session, options)
  const lock = yield* Semaphore.make(1)
  let numbered = 0
  let isBroken = false

  /** What is not accepted leaves a hole in the numbers. */
  const accepted = <A>(submit: Effect.Effect<A, TinkerError>) =>
    Effect.onExit(submit, (exit) =>
      Effect.sync(() => {
        if (Exit.isFailure(exit)) isBroken = true
      })
    )

  const whole = Effect.suspend(() =>
    isBroken
      ? Effect.fail(
          new TinkerError({
            reason: "broken",
            server,
            message: `an earlier request never reached ${server}: model ${id} cannot go on`
          })
        )
      : Effect.void
  )

  const operation = <A>(ask: (seqId: number) => Transport.Ask, kind: Futures.Kind<A>) =>
    whole.pipe(
      Effect.andThen(
        Effect.suspend(() => {
          const request = ask(++numbered)
          return Effect.flatMap(accepted(futures.submit(request)), (pending) =>
            futures.result(pending, kind, futures.submit(request))
          )
        })
      ),
      lock.withPermits(1)
    )

  const bodyOf = Effect.fnUntraced(function* (request: ForwardBackward.Request) {
    const bytes = ForwardBackward.encode(request)
    const body = config.isCompressed
      ? { bytes: yield* Zstd.compress(server, bytes), encoding: "zstd" as const }
      : { bytes, encoding: undefined }
    return { method: "POST", path: Paths.post.forwardBackward, body } satisfies Transport.Ask
  })

  /** The chunks of a batch; the first is sent last, so that the server has them all when it begins. */
  const pass = (data: ReadonlyArray<ForwardBackward.Datum>, { config: lossConfig, name }: Loss, forwardOnly: boolean) =>
    Effect.gen(function* () {
      yield* whole
      const chunks = Chunks.cut(data, config).map((chunk) => ({
        modelId: id,
        seqId: ++numbered,
        data: chunk,
        lossFn: name,
        lossConfig: lossConfig ?? new Map(),
        forwardOnly
      }))
      const send = (request: ForwardBackward.Request) =>
        Effect.flatMap(bodyOf(request), (ask) => Effect.map(futures.submit(ask), (pending) => ({ ask, pending })))
      const [first, ...rest] = chunks
      if (first === undefined) return Chunks.join([])
      const sent = yield* accepted(
        Effect.gen(function* () {
          if (!config.isParallel) return yield* Effect.forEach(chunks, send)
          const others = yield* Effect.forEach(rest, send, { concurrency: sentAtOnce })
          return [yield* send(first), ...others]
        })
      )
      const kind = forwardOnly ? forward : forwardBackward
      const results = yield* Effect.forEach(
        sent,
        ({ ask, pending }) => futures.result(pending, kind, futures.submit(ask)),
        { concurrency: "unbounded" }
      )
      const joined = Chunks.join(results)
      if (joined.outputs.length !== data.length) {
        return yield* new TinkerError({
          reason: "malformed",
          server,
          message: `${server} answered ${data.length} data with ${joined.outputs.length} outputs`
        })
      }
      return joined
    }).pipe(lock.withPermits(1))

  return {
    id,
    forward: (data, loss) => pass(data, loss, true),
    forwardBackward: (data, loss) => pass(data, loss, false),
    optimStep: (adamParams) =>
      Effect.map(
        operation(
          (seqId) =>
            post(Paths.post.optimStep, OptimStep.OptimStep, { modelId: id, seqId, type: "optim_step", adamParams }),
          optimStepped
        ),
        ({ metrics }) => metrics ?? {}
      ),
    saveWeights: (path) =>
      Effect.map(
        operation(
          (seqId) =>
            post(Paths.post.saveWeights, Checkpoint.SaveWeights, {
              modelId: id,
              path,
              seqId,
              overwrite: false,
              type: "save_weights"
            }),
          saved
        ),
        (answer) => answer.path
      ),
    loadWeights: (path, optimizer) =>
      Effect.asVoid(
        operation(
          (seqId) =>
            post(Paths.post.loadWeights, Checkpoint.LoadWeights, {
              modelId: id,
              seqId,
              path,
              optimizer,
              type: "load_weights"
            }),
          loaded
        )
      ),
    saveForSampler: (samplingSessionSeqId) =>
      Effect.flatMap(
        operation(
          (seqId) =>
            post(Paths.post.saveWeightsForSampler, Checkpoint.SaveWeightsForSampler, {
              modelId: id,
              samplingSessionSeqId,
              kind: "snapshot",
              seqId,
              type: "save_weights_for_sampler"
            }),
          savedForSampler
        ),
        ({ path, samplingSessionId }): Effect.Effect<Published, TinkerError> => {
          if (samplingSessionId) return Effect.succeed({ sessionId: samplingSessionId })
          if (path) return Effect.succeed({ path })
          return Effect.fail(
            new TinkerError({
              reason: "malformed",
              server,
              message: `${server} saved weights for samplers and named neither a session nor a path`
            })
          )
        }
      ),
    unload: Effect.suspend(() => {
      const ask = post(Paths.post.unloadModel, Model.UnloadModel, { modelId: id, type: "unload_model" })
      return Effect.flatMap(futures.submit(ask), (pending) =>
        Effect.asVoid(futures.result(pending, unloaded, futures.submit(ask)))
      )
    })
  } satisfies TrainedModel
})
