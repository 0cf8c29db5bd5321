/**
 * The numbered requests of a model in training.
 *
 * The numbers order them and make them idempotent: one sent twice is applied once. A number that never reached the
 * server cannot be skipped, so a request that is given up before it is accepted breaks the line: all later ones fail
 * with `broken`. One request at a time; the parts of a batch are one.
 */
import { Effect, Exit, Semaphore } from "effect"
import * as ForwardBackward from "../protocol/ForwardBackward.ts"
import * as ForwardBackwardResult from "../protocol/ForwardBackwardResult.ts"
import * as Paths from "../protocol/Paths.ts"
import * as Chunks from "./Chunks.ts"
import * as Futures from "./Futures.ts"
import type { Session } from "./Session.ts"
import { TinkerError } from "./TinkerError.ts"
import type * as Transport from "./Transport.ts"
import * as Zstd from "./Zstd.ts"

export interface Loss {
  readonly name: string
  readonly config?: ForwardBackward.LossConfig
}

/** Chunks of a batch that are sent at once. */
const sentAtOnce = 8

const forward = Futures.binaryKind("Forward", ForwardBackwardResult.decode)
const forwardBackward = Futures.binaryKind("ForwardBackward", ForwardBackwardResult.decode)

export const make = Effect.fnUntraced(function* (session: Session, id: string) {
  const { config, futures, server } = session
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

  return { operation, pass }
})
