/** Routes of models and their operations: each request returns the id of a future result (`Futures`). */
import { Deferred, Effect } from "effect"
import * as FB from "../protocol/ForwardBackward.ts"
import * as FBResult from "../protocol/ForwardBackwardResult.ts"
import * as ModelProtocol from "../protocol/Model.ts"
import * as OptimProtocol from "../protocol/OptimStep.ts"
import * as Paths from "../protocol/Paths.ts"
import { modulesOf } from "../service/Adapters.ts"
import * as Data from "../service/Data.ts"
import { notFound, type OperationFailed, Refused, wrong } from "../service/Failures.ts"
import type { Outcome } from "../service/Futures.ts"
import * as Bounds from "./Bounds.ts"
import * as Http from "./Http.ts"
import * as JsonData from "./JsonData.ts"
import * as Losses from "../service/Losses.ts"
import type { Service } from "../service/Service.ts"
import * as Sessions from "../service/Sessions.ts"
import * as Targets from "../service/Targets.ts"
import type { TrainedModel } from "../service/TrainedModel.ts"

const newModel = Http.body(ModelProtocol.CreateModel)
const modelInfo = Http.body(ModelProtocol.GetInfo)
const unloading = Http.body(ModelProtocol.UnloadModel)
const optimStep = Http.body(OptimProtocol.OptimStep)

export const pending = (requestId: string, modelId: string | undefined, more: object = {}): Http.Answer =>
  Http.json({ request_id: requestId, future_id: requestId, model_id: modelId, status: "pending", ...more })

export const checkBase = ({ names }: Service, name: string | null | undefined): Effect.Effect<void, Refused> =>
  name === null || name === undefined || names.includes(name)
    ? Effect.void
    : Effect.fail(notFound(`the base model of this server is ${names[0]}, not ${name}`))

export const submit = Effect.fnUntraced(function* (
  { sessions }: Service,
  modelId: string,
  operation: {
    readonly number: number | null | undefined
    readonly bytes: number
    readonly spoils?: boolean
    readonly run: (trained: TrainedModel, model: Sessions.TrainingModel) => Effect.Effect<Outcome, OperationFailed>
  }
) {
  const model = yield* sessions.modelOf(modelId)
  const { bytes, number, run, spoils = false } = operation
  const id = yield* model.operations.submit({
    number: number ?? undefined,
    bytes,
    run: Effect.flatMap(Deferred.await(model.ready), (trained) => run(trained, model)),
    ...(spoils && { onFailure: (reason: string) => model.trained?.spoil(reason) })
  })
  return pending(id, modelId)
})

/**
 * Answers a numbered operation whose request is invalid by a future that fails: the number is taken, so that the
 * operations after it do not wait for it. Without a number, or where another attempt may succeed, it is refused.
 */
export const numbered = <R>(
  service: Service,
  handler: Effect.Effect<Http.Answer, Refused, R>,
  { spoils = false }: { readonly spoils?: boolean } = {}
): Effect.Effect<Http.Answer, Refused, R> =>
  Effect.suspend(() => {
    const named: Http.Named = {}
    return handler.pipe(
      Effect.provideService(Http.Named, named),
      Effect.catchTag("Refused", (refused) => {
        const { isForwardOnly, modelId, number } = named
        const isInvalid = refused.status === 400 || refused.status === 422
        return isInvalid && modelId !== undefined && number !== undefined
          ? submit(service, modelId, {
              number,
              bytes: 0,
              spoils: spoils && isForwardOnly !== true,
              run: () => Effect.fail(wrong(refused.message))
            })
          : Effect.fail(refused)
      })
    )
  })

const createModel = (service: Service) =>
  Effect.gen(function* () {
    const { value } = yield* newModel
    yield* Bounds.numbers(value)
    yield* checkBase(service, value.baseModel)
    const optimizer = value.optimizerConfig?.type ?? "adamw"
    if (optimizer !== "adamw") {
      return yield* new Refused({ status: 400, message: `unknown optimizer ${optimizer}; this server has adamw` })
    }
    const session = yield* service.sessions.sessionOf(value.sessionId)
    const lora = value.loraConfig
    const { loraAlpha } = service.settings
    if ((lora?.alpha ?? loraAlpha) !== loraAlpha) {
      const message = `adapters of this server have alpha ${loraAlpha} (--lora_alpha), not ${lora?.alpha}`
      return yield* new Refused({ status: 400, message })
    }
    const kind = { rank: lora?.rank ?? 32, trainAttn: lora?.trainAttn ?? true, trainMlp: lora?.trainMlp ?? true }
    if (modulesOf(service.base.config, kind).length === 0 || kind.rank < 1) {
      const message =
        kind.rank < 1
          ? `a rank is at least 1, not ${kind.rank}`
          : "adapters here are on attention and MLP layers: set train_attn or train_mlp"
      return yield* new Refused({ status: 400, message })
    }
    const model = yield* service.sessions.createModel(
      session,
      { number: value.modelSeqId, baseModel: value.baseModel, metadata: value.userMetadata ?? undefined },
      { from: "scratch", kind, seed: lora?.seed ?? undefined }
    )
    return pending(Sessions.createdId(model), model.id)
  })

const getInfo = ({ base, sessions, tokenizerId }: Service) =>
  Effect.gen(function* () {
    const { value } = yield* modelInfo
    const { baseModel, id, kind } = yield* sessions.modelOf(value.modelId)
    return Http.json({
      type: "get_info",
      model_id: id,
      model_name: baseModel,
      is_lora: true,
      lora_rank: kind?.rank ?? null,
      optimizer_config: { type: "adamw" },
      model_data: { arch: base.config.architecture, model_name: baseModel, tokenizer_id: tokenizerId }
    })
  })

const unloadModel = ({ futures, sessions }: Service) =>
  Effect.gen(function* () {
    const { value } = yield* unloading
    const model = yield* sessions.modelOf(value.modelId)
    yield* sessions.unload(model)
    const id = `${model.id}:unloaded`
    const answer = { model_id: model.id, type: "unload_model" }
    yield* futures.promise(id, model.session, Effect.succeed({ json: () => answer }))
    return pending(id, model.id)
  })

const resultOf = (result: FBResult.Result): Outcome => ({
  binary: FBResult.encode(result),
  json: () => JsonData.result(result)
})

const forwardBackward = (service: Service, isForwardOnly: boolean) =>
  Effect.gen(function* () {
    const { bytes, request } = (yield* Http.hasBinary)
      ? yield* Effect.gen(function* () {
          const body = yield* Http.binary
          yield* Http.name(yield* FB.nameOf(body))
          const request = yield* Effect.mapError(
            FB.decode(body),
            ({ message }) => new Refused({ status: 400, message })
          )
          return { bytes: Math.max(body.byteLength, FB.requestBytes(request)), request }
        })
      : yield* JsonData.request
    yield* Bounds.numbers(request)
    const limits = { vocabSize: service.limits.vocabSize, maxPositions: service.limits.maxSequenceTokens }
    const forwardOnly = isForwardOnly || request.forwardOnly
    return yield* submit(service, request.modelId, {
      number: request.seqId === 0 ? undefined : request.seqId,
      bytes,
      spoils: !forwardOnly,
      run: Effect.fnUntraced(function* (trained) {
        const loss = yield* Losses.make(request.lossFn, request.lossConfig)
        const { items, widths } = yield* Data.read(request.data, loss, limits)
        const result = yield* forwardOnly ? trained.forward(items, loss) : trained.forwardBackward(items, loss)
        return resultOf(Targets.join(result, widths))
      })
    })
  })

/** Above it any step gives infinite weights. */
const maxRate = 1000

const snakeCase = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

const isUnit = (beta: number) => beta >= 0 && beta < 1

const stepOf = (service: Service) =>
  Effect.gen(function* () {
    const { bytes, value } = yield* optimStep
    yield* Bounds.numbers(value)
    const sent = value.adamParams ?? {}
    const nulls = Object.entries(sent).flatMap(([name, one]) => (one === null ? [snakeCase(name)] : []))
    const params = { ...OptimProtocol.adamDefaults, ...present(sent) }
    const { beta1, beta2, eps, gradClipNorm, learningRate, weightDecay } = params
    const problem =
      value.adamParams === undefined || value.adamParams === null
        ? "the optimizer of this server is adamw: send adam_params"
        : nulls.length > 0
          ? // The SDK sends NaN and infinity as null, which must not become the default.
            `${nulls.join(", ")} must be a finite number (NaN and infinity arrive as null)`
          : !isUnit(beta1) || !isUnit(beta2)
            ? `beta1 and beta2 must be from 0 to below 1, not ${beta1} and ${beta2}`
            : [learningRate, eps, weightDecay].some((one) => one < 0 || one > maxRate)
              ? `learning_rate, eps and weight_decay must be from 0 to ${maxRate}`
              : eps === 0
                ? "eps must be above 0: where a gradient is 0, as in a new adapter, the update would be 0 / 0"
                : gradClipNorm < 0
                  ? "grad_clip_norm must not be negative; 0 means no limit"
                  : undefined
    return yield* submit(service, value.modelId, {
      number: value.seqId,
      bytes,
      run: Effect.fnUntraced(function* (trained) {
        if (problem !== undefined) return yield* wrong(problem)
        const { norm } = yield* trained.optimStep({
          learningRate,
          beta1,
          beta2,
          epsilon: eps,
          weightDecay,
          maxNorm: gradClipNorm > 0 ? gradClipNorm : null
        })
        const metrics = { "grad_norm:max": norm, "learning_rate:max": learningRate }
        return { json: () => ({ metrics, type: "optim_step" }) }
      })
    })
  })

const present = <A extends object>(input: A) =>
  // Nulls were just removed.
  Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null && value !== undefined)) as {
    readonly [K in keyof A]?: Exclude<A[K], null | undefined>
  }

export const routes = (service: Service) =>
  [
    ["POST", Paths.post.createModel, createModel(service)],
    ["POST", Paths.post.getInfo, getInfo(service)],
    ["POST", Paths.post.unloadModel, unloadModel(service)],
    ["POST", Paths.post.forwardBackward, numbered(service, forwardBackward(service, false), { spoils: true })],
    ["POST", `${Paths.root}/forward`, numbered(service, forwardBackward(service, true))],
    ["POST", Paths.post.optimStep, numbered(service, stepOf(service))]
  ] as const
