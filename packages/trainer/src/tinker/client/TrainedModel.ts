/**
 * A model in training on a Tinker server: an adapter with its optimizer. Its requests are ordered (`RequestLine`): one
 * caller at a time.
 */
import { Effect } from "effect"
import * as Checkpoint from "../protocol/Checkpoint.ts"
import type * as ForwardBackward from "../protocol/ForwardBackward.ts"
import type * as ForwardBackwardResult from "../protocol/ForwardBackwardResult.ts"
import * as Model from "../protocol/Model.ts"
import * as OptimStep from "../protocol/OptimStep.ts"
import * as Paths from "../protocol/Paths.ts"
import * as Futures from "./Futures.ts"
import * as RequestLine from "./RequestLine.ts"
import { inSession, post, type Session } from "./Session.ts"
import { TinkerError } from "./TinkerError.ts"

export type Loss = RequestLine.Loss

export interface TrainedModel {
  readonly id: string
  readonly forward: (
    data: ReadonlyArray<ForwardBackward.Datum>,
    loss: Loss
  ) => Effect.Effect<ForwardBackwardResult.Result, TinkerError>
  readonly forwardBackward: (
    data: ReadonlyArray<ForwardBackward.Datum>,
    loss: Loss
  ) => Effect.Effect<ForwardBackwardResult.Result, TinkerError>
  /** Makes a step with the accumulated gradient; returns metrics by name. */
  readonly optimStep: (params: OptimStep.AdamParams) => Effect.Effect<Readonly<Record<string, number>>, TinkerError>
  /** Saves weights and moments under a name; returns their path. */
  readonly saveWeights: (name: string) => Effect.Effect<string, TinkerError>
  /** Only as the first request. */
  readonly loadWeights: (path: string, withOptimizer: boolean) => Effect.Effect<void, TinkerError>
  /** Saves weights for sampling under a name; returns their path. */
  readonly saveForSampler: (name: string) => Effect.Effect<string, TinkerError>
  /** Frees the server's memory; a server without this operation frees it with the session. */
  readonly unload: Effect.Effect<void, TinkerError>
}

export interface Options {
  readonly baseModel: string
  readonly rank: number
  readonly seed: number
}

const optimStepped = Futures.jsonKind("OptimStep", OptimStep.OptimStepped)
const saved = Futures.jsonKind("SaveWeights", Checkpoint.WeightsSaved)
const loaded = Futures.jsonKind("LoadWeights", Checkpoint.WeightsLoaded)
const savedForSampler = Futures.jsonKind("SaveWeightsForSampler", Checkpoint.WeightsSavedForSampler)
const created = Futures.jsonKind("CreateModel", Model.ModelCreated)
const unloaded = Futures.jsonKind("UnloadModel", Model.ModelUnloaded)

const create = (session: Session, { baseModel, rank, seed }: Options) => {
  const { futures } = session
  const modelSeqId = session.nextModel()
  return inSession(session, (sessionId) => {
    const ask = post(Paths.post.createModel, Model.CreateModel, {
      sessionId,
      modelSeqId,
      baseModel,
      loraConfig: { rank, seed, trainUnembed: true, trainMlp: true, trainAttn: true },
      optimizerConfig: { type: "adamw" },
      type: "create_model"
    })
    return Effect.flatMap(futures.submit(ask), (pending) =>
      Effect.map(futures.result(pending, created, futures.submit(ask)), ({ modelId }) => modelId)
    )
  })
}

/** Creates an adapter; the caller unloads it at the end of the scope. */
export const make = Effect.fn("TrainedModel.make")(function* (session: Session, options: Options) {
  const { futures, server } = session
  const id = yield* create(session, options)
  const { operation, pass } = yield* RequestLine.make(session, id)

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
    saveForSampler: (path) =>
      Effect.flatMap(
        operation(
          (seqId) =>
            post(Paths.post.saveWeightsForSampler, Checkpoint.SaveWeightsForSampler, {
              modelId: id,
              path,
              kind: "snapshot",
              seqId,
              type: "save_weights_for_sampler"
            }),
          savedForSampler
        ),
        (answer) =>
          answer.path
            ? Effect.succeed(answer.path)
            : Effect.fail(
                new TinkerError({
                  reason: "malformed",
                  server,
                  message: `${server} saved sampler weights without returning their path`
                })
              )
      ),
    unload: Effect.suspend(() => {
      const ask = post(Paths.post.unloadModel, Model.UnloadModel, { modelId: id, type: "unload_model" })
      return Effect.flatMap(futures.submit(ask), (pending) =>
        Effect.asVoid(futures.result(pending, unloaded, futures.submit(ask)))
      )
    })
  } satisfies TrainedModel
})
