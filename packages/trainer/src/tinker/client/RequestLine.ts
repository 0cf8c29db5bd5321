/**
 * Sends the numbered requests of a model in training, one at a time; the chunks of a batch count as one.
 *
 * The numbers order requests and make them idempotent. A number that never reached the server cannot be skipped: a
 * request interrupted before it was accepted is sent before the next one; if the server does not accept a request, all
 * later ones fail with `broken`.
 */
import { Cause, Effect, Exit, Semaphore } from "effect"
import * as ForwardBackward from "../protocol/ForwardBackward.ts"
import * as ForwardBackwardResult from "../protocol/ForwardBackwardResult.ts"
import type * as Future from "../protocol/Future.ts"
import * as Paths from "../protocol/Paths.ts"
import * as Chunks from "./Chunks.ts"
import * as Futures from "./Futures.ts"
import type { Session } from "./Session.ts"
import { TinkerError } from "./TinkerError.ts"
import type * as Transport from "./Transport.ts"
import * as zlib from "node:zlib"

/** Compresses request bodies off the event loop; requires Node 22.15. */
const compress = (server: string, bytes: Uint8Array): Effect.Effect<Uint8Array, TinkerError> =>
  typeof zlib.zstdCompress === "function"
    ? Effect.callback((resume) => {
        zlib.zstdCompress(bytes, (error, compressed) =>
          resume(
            error === null
              ? Effect.succeed(new Uint8Array(compressed))
              : Effect.fail(
                  new TinkerError({ reason: "malformed", server, message: `zstd: ${error.message}`, cause: error })
                )
          )
        )
      })
    : Effect.fail(
        new TinkerError({
          reason: "refused",
          server,
          message: `${server} requires zstd, which this Node lacks: use Node 22.15 or later`
        })
      )

export interface Loss {
  readonly name: string
  readonly config?: ForwardBackward.LossConfig
}

/** Chunks of a batch sent concurrently. */
const sentAtOnce = 8

/** Sends a request with its number, the same one on every attempt. */
type Submission = Effect.Effect<Future.Pending, TinkerError>

const forward = Futures.binaryKind("Forward", ForwardBackwardResult.decode)
const forwardBackward = Futures.binaryKind("ForwardBackward", ForwardBackwardResult.decode)

export const make = Effect.fnUntraced(function* (session: Session, id: string) {
  const { config, futures, server } = session
  const lock = yield* Semaphore.make(1)
  let numbered = 0
  let isBroken = false

  /** Interrupted before the server accepted them. */
  let unsent: ReadonlyArray<Submission> = []

  /**
   * Sends the requests that `number` returns; the server has accepted them on completion, or before the next request.
   */
  const accepted = (number: () => ReadonlyArray<Submission>, concurrency: number) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.suspend(() => {
        const submissions = number()
        const missing = new Set([...unsent, ...submissions])
        const send = (submission: Submission) =>
          Effect.tap(submission, () => Effect.sync(() => void missing.delete(submission)))
        return restore(
          Effect.andThen(
            Effect.forEach(unsent, send, { discard: true }),
            Effect.forEach(
              submissions,
              (submission) => Effect.map(send(submission), (pending) => ({ pending, submission })),
              {
                concurrency
              }
            )
          )
        ).pipe(
          Effect.onExit((exit) =>
            Effect.sync(() => {
              unsent = [...missing]
              if (Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause)) isBroken = true
            })
          )
        )
      })
    )

  const whole = Effect.suspend(() =>
    isBroken
      ? Effect.fail(
          new TinkerError({
            reason: "broken",
            server,
            message: `an earlier request never reached ${server}: model ${id} cannot continue`
          })
        )
      : Effect.void
  )

  const operation = <A>(ask: (seqId: number) => Transport.Ask, kind: Futures.Kind<A>) =>
    Effect.gen(function* () {
      yield* whole
      const [sent] = yield* accepted(() => [futures.submit(ask(++numbered))], 1)
      return yield* futures.result(sent!.pending, kind, sent!.submission)
    }).pipe(lock.withPermits(1))

  const bodyOf = Effect.fnUntraced(function* (request: ForwardBackward.Request) {
    const bytes = ForwardBackward.encode(request)
    const body = config.isCompressed
      ? { bytes: yield* compress(server, bytes), encoding: "zstd" as const }
      : { bytes, encoding: undefined }
    return { method: "POST", path: Paths.post.forwardBackward, body } satisfies Transport.Ask
  })

  /** The chunks of a batch; the first is sent last, so that the server has them all when it starts. */
  const pass = (
    data: ReadonlyArray<ForwardBackward.Datum>,
    { config: lossConfig = new Map(), name }: Loss,
    forwardOnly: boolean
  ) =>
    Effect.gen(function* () {
      yield* whole
      const submissionOf = (chunk: ReadonlyArray<ForwardBackward.Datum>): Submission => {
        const request = { modelId: id, seqId: ++numbered, data: chunk, lossFn: name, lossConfig, forwardOnly }
        return Effect.flatMap(bodyOf(request), (ask) => futures.submit(ask))
      }
      const sent = yield* accepted(
        () => {
          const submissions = Chunks.cut(data, config).map(submissionOf)
          return config.isParallel ? [...submissions.slice(1), ...submissions.slice(0, 1)] : submissions
        },
        config.isParallel ? sentAtOnce : 1
      )
      const kind = forwardOnly ? forward : forwardBackward
      const results = yield* Effect.forEach(
        config.isParallel ? [...sent.slice(-1), ...sent.slice(0, -1)] : sent,
        ({ pending, submission }) => futures.result(pending, kind, submission),
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

  return { operation, pass }
})
