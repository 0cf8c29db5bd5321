/** Routes that list training runs: models with their checkpoints, including those of earlier sessions. */
import { Effect, Schema } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import * as Protocol from "../protocol/Checkpoint.ts"
import * as Paths from "../protocol/Paths.ts"
import * as CheckpointFolder from "../service/CheckpointFolder.ts"
import * as CheckpointPath from "../service/CheckpointPath.ts"
import { notFound, Refused } from "../service/Failures.ts"
import * as Bounds from "./Bounds.ts"
import * as Http from "./Http.ts"
import type { Service } from "../service/Service.ts"

const byPath = Http.body(Schema.Struct({ tinker_path: Schema.String }))
const expiry = Http.body(Schema.Struct({ ttl_seconds: Schema.NullOr(Schema.Natural) }))

const encodeRun = Schema.encodeSync(Protocol.TrainingRun)
const encodeRuns = Schema.encodeSync(Protocol.TrainingRuns)
const encodeCheckpoints = Schema.encodeSync(Protocol.Checkpoints)
const encodeInfo = Schema.encodeSync(Protocol.WeightsInfo)

/** The run in the path, which the router has already unescaped. */
const runId = Effect.flatMap(HttpRouter.params, ({ run = "" }) =>
  CheckpointPath.isModelId(run) ? Effect.succeed(run) : Effect.fail(notFound(`training run not found: ${run}`))
)

const page = Effect.map(HttpServerRequest.HttpServerRequest, ({ url }) => {
  const query = new URL(url, "http://localhost").searchParams
  const number = (name: string, otherwise: number) => {
    const value = Number(query.get(name) ?? otherwise)
    return Number.isSafeInteger(value) && value >= 0 ? value : otherwise
  }
  return { offset: number("offset", 0), limit: Math.min(1000, number("limit", 20)) }
})

const cut = <A>(all: ReadonlyArray<A>, { limit, offset }: { readonly limit: number; readonly offset: number }) => ({
  items: all.slice(offset, offset + limit),
  cursor: { offset, limit, totalCount: all.length }
})

const described = ({ checkpoints }: Service, saved: CheckpointFolder.Saved) =>
  Effect.map(Effect.option(checkpoints.sizeOf(saved)), (size) => ({
    checkpointId: `${saved.kind}/${saved.name}`,
    checkpointType: saved.kind === "weights" ? ("training" as const) : ("sampler" as const),
    time: CheckpointFolder.iso(saved.info.created),
    tinkerPath: CheckpointPath.of(saved),
    sizeBytes: size._tag === "Some" ? size.value : null,
    public: false,
    userMetadata: saved.info.user_metadata,
    expiresAt: saved.info.expires === null ? null : CheckpointFolder.iso(saved.info.expires)
  }))

/** A model as a training run; undefined if unknown. */
const runOf = Effect.fnUntraced(function* (service: Service, id: string) {
  const model = service.sessions.models().find((one) => one.id === id)
  const saved = yield* service.checkpoints.ofModel(id)
  const last = saved.at(-1)
  if (model === undefined && last === undefined) return undefined
  const newest = (kind: CheckpointPath.Kind) => {
    const found = saved.findLast((one) => one.kind === kind)
    return found === undefined ? Effect.succeed(null) : described(service, found)
  }
  return {
    trainingRunId: id,
    baseModel: model?.baseModel ?? service.names[0]!,
    modelOwner: "local",
    isLora: true,
    corrupted: false,
    loraRank: model?.kind?.rank ?? last?.info.rank ?? null,
    lastRequestTime: CheckpointFolder.iso(model?.usedAt ?? last?.info.created ?? 0),
    lastCheckpoint: yield* newest("weights"),
    lastSamplerCheckpoint: yield* newest("sampler_weights"),
    userMetadata: model?.metadata ?? null
  }
})

const runIds = ({ checkpoints, sessions }: Service) =>
  Effect.map(checkpoints.modelIds, (saved) => [...new Set([...sessions.models().map(({ id }) => id), ...saved])])

const list = (service: Service) =>
  Effect.gen(function* () {
    const { cursor, items } = cut(yield* runIds(service), yield* page)
    const runs = yield* Effect.forEach(items, (id) => runOf(service, id))
    return Http.json(encodeRuns({ trainingRuns: runs.filter((run) => run !== undefined), cursor }))
  })

const one = (service: Service) =>
  Effect.gen(function* () {
    const run = yield* runId
    const found = yield* runOf(service, run)
    return found === undefined ? yield* notFound(`training run not found: ${run}`) : Http.json(encodeRun(found))
  })

const checkpointsOf = (service: Service) =>
  Effect.gen(function* () {
    const run = yield* runId
    const saved = yield* service.checkpoints.ofModel(run)
    return Http.json(encodeCheckpoints({ checkpoints: yield* Effect.forEach(saved, (one) => described(service, one)) }))
  })

const allCheckpoints = (service: Service) =>
  Effect.gen(function* () {
    const saved = (yield* Effect.forEach(yield* service.checkpoints.modelIds, service.checkpoints.ofModel)).flat()
    const { cursor, items } = cut(saved, yield* page)
    return Http.json(
      encodeCheckpoints({ checkpoints: yield* Effect.forEach(items, (one) => described(service, one)), cursor })
    )
  })

const named = ({ checkpoints }: Service) =>
  Effect.gen(function* () {
    const { kind = "", name = "", run = "" } = yield* HttpRouter.params
    const address = CheckpointPath.parse(`tinker://${run}/${kind}/${name}`)
    if (address === undefined) return yield* notFound(`checkpoint not found: ${run}/${kind}/${name}`)
    return yield* checkpoints.find(address)
  })

const asAnswer = <A, E extends { readonly message: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.mapError(effect, ({ message }) => new Refused({ status: 500, message }))

const remove = (service: Service) =>
  Effect.flatMap(named(service), (saved) => Effect.as(asAnswer(service.checkpoints.remove(saved)), Http.json(null)))

const setExpiry = (service: Service) =>
  Effect.gen(function* () {
    const { value } = yield* expiry
    yield* Bounds.numbers({ ttlSeconds: value.ttl_seconds })
    yield* asAnswer(service.checkpoints.setExpiry(yield* named(service), value.ttl_seconds ?? undefined))
    return Http.json(null)
  })

const weightsInfo = ({ checkpoints, names }: Service) =>
  Effect.gen(function* () {
    const { value } = yield* byPath
    const address = CheckpointPath.parse(value.tinker_path)
    if (address === undefined) return yield* notFound(`${value.tinker_path} is not a path of weights`)
    const { info } = yield* checkpoints.find(address)
    return Http.json(
      encodeInfo({
        baseModel: names[0]!,
        isLora: true,
        loraRank: info.rank,
        trainUnembed: false,
        trainMlp: info.train_mlp,
        trainAttn: info.train_attn
      })
    )
  })

const notDownloaded = ({ checkpoints }: Service) =>
  Effect.fail(
    new Refused({
      status: 501,
      message: `archives are not supported: checkpoints are PEFT folders below ${checkpoints.root} on the server`
    })
  )

const run = `${Paths.root}/training_runs/:run` as const

export const routes = (service: Service) =>
  [
    ["GET", Paths.get.trainingRuns, list(service)],
    ["GET", run, one(service)],
    ["GET", `${run}/checkpoints`, checkpointsOf(service)],
    ["DELETE", `${run}/checkpoints/:kind/:name`, remove(service)],
    ["PUT", `${run}/checkpoints/:kind/:name/ttl`, setExpiry(service)],
    ["GET", `${run}/checkpoints/:kind/:name/archive`, notDownloaded(service)],
    ["GET", `${Paths.root}/checkpoints`, allCheckpoints(service)],
    ["POST", Paths.post.weightsInfo, weightsInfo(service)]
  ] as const
