/**
 * Samples from one set of weights on a Tinker server, pinned for the session's life. Requests are numbered, so that one
 * sent twice is answered once. A server at capacity is `overloaded` immediately: the caller decides when to retry.
 */
import { Effect, Semaphore } from "effect"
import * as Paths from "../protocol/Paths.ts"
import * as SampleAnswer from "../protocol/SampleAnswer.ts"
import * as Wire from "../protocol/Sampling.ts"
import * as Futures from "./Futures.ts"
import { inSession, post, type Session } from "./Session.ts"
import type { TinkerError } from "./TinkerError.ts"

export interface Request {
  readonly prompt: ReadonlyArray<number>
  readonly numSamples: number
  readonly params: Wire.SamplingParams
  readonly promptLogprobs?: boolean
  /** Number of most likely tokens at each position of the prompt. */
  readonly topkPromptLogprobs?: number
}

export interface SamplingSession {
  readonly id: string
  readonly sample: (request: Request) => Effect.Effect<SampleAnswer.Answer, TinkerError>
}

const sampled = Futures.binaryKind("Sample", SampleAnswer.decode)

const of = (session: Session, id: string): Effect.Effect<SamplingSession> =>
  Effect.map(Semaphore.make(session.config.maxSamples), (slots) => {
    const { futures } = session
    let numbered = 0
    return {
      id,
      sample: ({ numSamples, params, prompt, promptLogprobs = false, topkPromptLogprobs = 0 }) =>
        Effect.suspend(() => {
          const ask = {
            ...post(Paths.post.sample, Wire.Sample, {
              numSamples,
              prompt: { chunks: [{ type: "encoded_text", tokens: prompt }] },
              samplingParams: params,
              samplingSessionId: id,
              seqId: numbered++,
              promptLogprobs,
              topkPromptLogprobs,
              type: "sample"
            }),
            headers: { "x-tinker-sampling-backpressure": "1" }
          }
          return Effect.flatMap(futures.submit(ask, false), (pending) =>
            futures.result(pending, sampled, futures.submit(ask))
          )
        }).pipe(slots.withPermits(1))
    } satisfies SamplingSession
  })

/** Opens a session with the weights of a path, or with a base model's own. */
export const open = Effect.fn("SamplingSession.open")(function* (
  session: Session,
  weights: { readonly baseModel: string } | { readonly path: string }
) {
  const samplingSessionSeqId = session.nextSampler()
  const { samplingSessionId } = yield* inSession(session, (sessionId) =>
    session.futures.call(
      post(Paths.post.createSamplingSession, Wire.CreateSamplingSession, {
        sessionId,
        samplingSessionSeqId,
        ...("path" in weights ? { modelPath: weights.path } : { baseModel: weights.baseModel }),
        type: "create_sampling_session"
      }),
      Wire.SamplingSessionCreated
    )
  )
  return yield* of(session, samplingSessionId)
})
