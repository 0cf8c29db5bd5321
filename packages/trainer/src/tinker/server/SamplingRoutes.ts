/** Routes of sampling sessions, samples, and the results of all futures. */
import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import { randomUUID } from "node:crypto"
import * as Protocol from "../protocol/Future.ts"
import * as Paths from "../protocol/Paths.ts"
import * as SampleAnswer from "../protocol/SampleAnswer.ts"
import * as Sampling from "../protocol/Sampling.ts"
import { busy, Refused } from "../service/Failures.ts"
import type { Outcome } from "../service/Futures.ts"
import * as Bounds from "./Bounds.ts"
import * as Http from "./Http.ts"
import type { Source } from "../service/Samplers.ts"
import type { Service } from "../service/Service.ts"
import { checkBase, pending } from "./TrainingRoutes.ts"

const opening = Http.body(Sampling.CreateSamplingSession)
const sampling = Http.body(Sampling.Sample, Number.POSITIVE_INFINITY)
const retrieving = Http.body(Protocol.RetrieveFuture)
const cancelling = Http.body(Protocol.CancelFuture)

const createSession = (service: Service) =>
  Effect.gen(function* () {
    const { value } = yield* opening
    yield* Bounds.numbers(value)
    const { samplers, sessions } = service
    const { baseModel, modelPath, samplingSessionSeqId } = value
    if ((baseModel ?? modelPath ?? null) === null) {
      return yield* new Refused({ status: 422, message: "base_model or model_path is needed" })
    }
    yield* checkBase(service, baseModel)
    const { id: session } = yield* sessions.sessionOf(value.sessionId)
    const id = `${session}:sample:${samplingSessionSeqId}`
    if (!samplers.has(id))
      yield* samplers.open(id, session, yield* samplers.sourceOf(modelPath), modelPath ?? undefined)
    return Http.json({ type: "create_sampling_session", sampling_session_id: id })
  })

const jsonOf = ({ promptLogprobs, sequences }: SampleAnswer.Answer) => ({
  type: "sample",
  sequences: sequences.map(({ logprobs, stopReason, tokens }) => ({
    stop_reason: stopReason,
    tokens: Array.from(tokens),
    logprobs: logprobs === undefined ? null : Array.from(logprobs)
  })),
  prompt_logprobs:
    promptLogprobs === undefined
      ? null
      : Array.from(promptLogprobs, (logprob) => (Number.isNaN(logprob) ? null : logprob))
})

/** The weights of a request, and the owner and id of its result. */
const askedBy = Effect.fnUntraced(function* (service: Service, sample: Sampling.Sample) {
  const { samplers, sessions } = service
  if (sample.samplingSessionId !== undefined && sample.samplingSessionId !== null) {
    const { id, session, source } = yield* samplers.sessionOf(sample.samplingSessionId)
    yield* sessions.sessionOf(session)
    return { id: `${id}:${sample.seqId ?? randomUUID()}`, owner: session, source }
  }
  yield* checkBase(service, sample.baseModel)
  const source: Source = yield* samplers.sourceOf(sample.modelPath)
  return { id: `sample:${randomUUID()}`, owner: "nobody", source }
})

const sample = (service: Service) =>
  Effect.gen(function* () {
    const { value } = yield* sampling
    yield* Bounds.sample(value, service)
    const { futures, samplers } = service
    const { id, owner, source } = yield* askedBy(service, value)
    const count = value.numSamples ?? 1
    const sequences = Array.from({ length: count }, (_, at) => `${id}:${at}`)
    const answer = pending(id, undefined, { sample_sequence_ids: sequences })
    if (futures.has(id)) return answer
    const leave = samplers.admit(count)
    if (leave === undefined) return yield* busy("too many completions are waiting: retry later")
    const run = Effect.map(samplers.answer(value, source), (result): Outcome => ({
      binary: SampleAnswer.encode(result),
      json: () => jsonOf(result)
    }))
    yield* futures.promise(id, owner, Effect.ensuring(run, leave))
    return answer
  })

/** Larger results are announced first, if the client allows it. */
const announcedBytes = 2 ** 20

const retrieve = ({ futures }: Service) =>
  Effect.gen(function* () {
    const { value } = yield* retrieving
    const retrieved = yield* futures.retrieve(value.requestId)
    switch (retrieved.state) {
      case "pending":
        return Http.json({ type: "try_again", request_id: value.requestId, queue_state: Protocol.queueStates[0] })
      case "failed":
        return Http.json({ error: retrieved.error.message, category: retrieved.error.category })
      case "done": {
        const { binary, json } = retrieved.outcome
        if (binary === undefined || !(yield* Http.wantsBinary)) return Http.json(json())
        if (value.allowMetadataOnly === true && binary.byteLength > announcedBytes) {
          return Http.json({ status: "complete_metadata", response_payload_size: binary.byteLength })
        }
        return Http.bytes(binary)
      }
    }
  })

const cancel = ({ futures }: Service) =>
  Effect.gen(function* () {
    const { value } = yield* cancelling
    yield* futures.cancel(value.requestId)
    return Http.json(null)
  })

const sampler = ({ names, samplers }: Service) =>
  Effect.gen(function* () {
    const { sampler = "" } = yield* HttpRouter.params
    const { id, modelPath } = yield* samplers.sessionOf(sampler)
    return Http.json({ sampler_id: id, base_model: names[0], model_path: modelPath ?? null })
  })

export const routes = (service: Service) =>
  [
    ["POST", Paths.post.createSamplingSession, createSession(service)],
    ["POST", Paths.post.sample, sample(service)],
    ["POST", Paths.post.retrieveFuture, retrieve(service)],
    ["POST", Paths.post.cancelFuture, cancel(service)],
    ["GET", `${Paths.root}/samplers/:sampler`, sampler(service)]
  ] as const
