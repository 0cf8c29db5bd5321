/** Routes of stored weights: saved under a name, saved for sampling, and loaded to resume. */
import { Effect } from "effect"
import * as OptimizerThread from "../../local/OptimizerThread.ts"
import * as Protocol from "../protocol/Checkpoint.ts"
import * as Paths from "../protocol/Paths.ts"
import * as CheckpointFolder from "../service/CheckpointFolder.ts"
import * as CheckpointPath from "../service/CheckpointPath.ts"
import { type OperationFailed, Refused, wrong } from "../service/Failures.ts"
import * as Bounds from "./Bounds.ts"
import * as Http from "./Http.ts"
import type { Service } from "../service/Service.ts"
import * as Sessions from "../service/Sessions.ts"
import type { TrainedModel } from "../service/TrainedModel.ts"
import { checkBase, numbered, pending, submit } from "./TrainingRoutes.ts"

const saving = Http.body(Protocol.SaveWeights)
const loading = Http.body(Protocol.LoadWeights)
const savingForSampler = Http.body(Protocol.SaveWeightsForSampler)

const save = (service: Service) =>
  Effect.gen(function* () {
    const { bytes, value } = yield* saving
    yield* Bounds.numbers(value)
    const { overwrite, path, seqId, ttlSeconds, userMetadata } = value
    return yield* submit(service, value.modelId, {
      number: seqId,
      bytes,
      run: Effect.fnUntraced(function* ({ model, snapshot }, { id }) {
        const name = path ?? `checkpoint-${seqId ?? "latest"}`
        const saved = yield* service.checkpoints.save(
          { modelId: id, kind: "weights", name },
          {
            model,
            snapshot: yield* snapshot,
            ttlSeconds: ttlSeconds ?? undefined,
            metadata: userMetadata ?? undefined
          },
          overwrite ?? false
        )
        return { json: () => ({ path: saved, type: "save_weights" }) }
      })
    })
  })

const saveForSampler = (service: Service) =>
  Effect.gen(function* () {
    const { bytes, value } = yield* savingForSampler
    yield* Bounds.numbers(value)
    const { checkpoints, samplers } = service
    const { path, samplingSessionSeqId, seqId, ttlSeconds, userMetadata } = value
    return yield* submit(service, value.modelId, {
      number: seqId,
      bytes,
      run: Effect.fnUntraced(function* ({ model, snapshot }, { id, session }) {
        const saving = {
          model,
          snapshot: yield* snapshot,
          ttlSeconds: ttlSeconds ?? undefined,
          metadata: userMetadata ?? undefined
        }
        const type = "save_weights_for_sampler"
        if (path !== undefined && path !== null) {
          const saved = yield* checkpoints.save({ modelId: id, kind: "sampler_weights", name: path }, saving, false)
          return { json: () => ({ path: saved, sampling_session_id: null, type }) }
        }
        const sampler = `${session}:sample:${samplingSessionSeqId ?? `${id.split(":").at(-1)}-${seqId ?? 0}`}`
        const folder = yield* checkpoints.saveSnapshot(sampler, id, saving)
        yield* samplers.open(sampler, session, { from: "snapshot", folder, model }, undefined)
        return { json: () => ({ path: null, sampling_session_id: sampler, type }) }
      })
    })
  })

const restore = (
  { checkpoints }: Service,
  trained: TrainedModel,
  saved: CheckpointFolder.Saved,
  withOptimizer: boolean
): Effect.Effect<void, OperationFailed> =>
  Effect.gen(function* () {
    const path = CheckpointPath.of(saved)
    const { rank, train_attn: trainAttn, train_mlp: trainMlp } = saved.info
    const { kind } = trained.model
    if (rank !== kind.rank || trainAttn !== kind.trainAttn || trainMlp !== kind.trainMlp) {
      return yield* wrong(`${path} is an adapter of another kind (rank ${rank}) than the model (rank ${kind.rank})`)
    }
    if (withOptimizer) return yield* trained.restore((yield* checkpoints.readState(saved)).snapshot)
    yield* trained.restore(OptimizerThread.fresh((yield* checkpoints.readWeights(saved)).parameters))
  })

const load = (service: Service) =>
  Effect.gen(function* () {
    const { bytes, value } = yield* loading
    yield* Bounds.numbers(value)
    const { checkpoints, sessions } = service
    const { modelId, modelSeqId, optimizer, path, seqId, sessionId } = value
    const address = CheckpointPath.parse(path)
    if (address === undefined) {
      return yield* new Refused({
        status: 400,
        message: `${path} is not a path of weights, for example tinker://<model>/weights/<name>`
      })
    }
    if (optimizer && address.kind !== "weights") {
      return yield* new Refused({
        status: 400,
        message: `${path} was saved for sampling, without the optimizer: load it without, or save with save_state`
      })
    }
    if (modelId !== undefined && modelId !== null) {
      return yield* submit(service, modelId, {
        number: seqId,
        bytes,
        run: Effect.fnUntraced(function* (trained) {
          const saved = yield* Effect.mapError(checkpoints.find(address), ({ message }) => wrong(message))
          yield* restore(service, trained, saved, optimizer)
          return { json: () => ({ path, model_id: modelId, type: "load_weights" }) }
        })
      })
    }
    if (sessionId === undefined || sessionId === null || modelSeqId === undefined || modelSeqId === null) {
      return yield* new Refused({ status: 422, message: "model_id, or session_id with model_seq_id, is needed" })
    }
    yield* checkBase(service, value.baseModel)
    const saved = yield* checkpoints.find(address)
    const session = yield* sessions.sessionOf(sessionId)
    const model = yield* sessions.createModel(
      session,
      {
        number: modelSeqId,
        baseModel: value.baseModel ?? service.names[0]!,
        metadata: value.userMetadata ?? undefined
      },
      { from: "checkpoint", saved, withOptimizer: optimizer }
    )
    return pending(Sessions.createdId(model), model.id)
  })

export const routes = (service: Service) =>
  [
    ["POST", Paths.post.saveWeights, numbered(service, save(service))],
    ["POST", Paths.post.loadWeights, numbered(service, load(service))],
    ["POST", Paths.post.saveWeightsForSampler, numbered(service, saveForSampler(service))]
  ] as const
