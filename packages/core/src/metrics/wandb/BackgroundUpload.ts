/**
 * Uploads a run while it is recorded: periodically, with growing pauses while the server is unavailable, and once more
 * at the end.
 */
import { Clock, Deferred, type Duration, Effect, Latch, Result } from "effect"
import * as Retry from "../../base/Retry.ts"
import type { Journal } from "./Journal.ts"
import type { Uploader } from "./Uploader.ts"
import type { RunRef } from "./WandbApi.ts"

export interface Options {
  readonly baseUrl: string
  /** Time between uploads. */
  readonly every: Duration.Input
  readonly tell: (message: string) => Effect.Effect<void>
}

/** Without a heartbeat for some minutes a run counts as crashed. */
const heartbeatMillis = 30_000

/** Uploads in the background until asked to finish. */
export const start = Effect.fnUntraced(function* (
  journal: Journal,
  uploader: Uploader,
  { baseUrl, every, tell }: Options
) {
  const awake = Latch.makeUnsafe(false)
  const done = yield* Deferred.make<void>()
  let isEnding = false
  let isOut = false
  let isTold = false
  let sentAt = yield* Clock.currentTimeMillis
  const pending = { folder: journal.folder }

  const round = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const before = uploader.progress().uploaded
    const place = yield* isEnding ? uploader.complete : uploader.push
    if (!isTold) yield* tell(`Weights & Biases: ${journal.run.name ?? place.run} at ${urlOf(baseUrl, place)}`)
    isTold = true
    if (uploader.progress().uploaded > before) sentAt = now
    else if (now - sentAt >= heartbeatMillis && !isEnding) {
      yield* uploader.heartbeat
      sentAt = now
    }
  })

  const loop = Effect.gen(function* () {
    for (let attempt = 1; ;) {
      const ending = isEnding
      const result = yield* Effect.result(round)
      if (Result.isSuccess(result)) {
        if (isOut) yield* Effect.logInfo("Weights & Biases is back")
        isOut = false
        attempt = 1
        if (ending) break
        awake.closeUnsafe()
        if (!isEnding) yield* Effect.timeoutOption(awake.await, every)
        continue
      }
      const error = result.failure
      if (error._tag === "WandbError" && error.reason === "final") {
        yield* Effect.logError(
          "stopped sending to Weights & Biases; `npx @atropos/cli wandb-sync` uploads the recorded rest",
          {
            reason: error.message,
            ...pending
          }
        )
        break
      }
      if (!isOut) yield* Effect.logWarning("Weights & Biases is unreachable; retrying", { reason: error.message })
      isOut = true
      // Asked to finish meanwhile: uploads once more immediately.
      if (isEnding && !ending) continue
      const atLeast = (error._tag === "WandbError" ? error.retryAfterMillis : undefined) ?? 0
      awake.closeUnsafe()
      yield* Effect.timeoutOption(awake.await, yield* Retry.backoffMillis(attempt++, { atLeast, cap: 60_000 }))
    }
  }).pipe(Effect.ensuring(Deferred.succeed(done, undefined)))
  yield* Effect.forkScoped(loop)

  return {
    finish: Effect.gen(function* () {
      isEnding = true
      awake.openUnsafe()
      yield* Deferred.await(done)
    }).pipe(
      Effect.onInterrupt(() =>
        Effect.logWarning(
          "upload to Weights & Biases did not finish in time; `npx @atropos/cli wandb-sync` uploads the rest",
          pending
        )
      )
    )
  }
})

export const urlOf = (baseUrl: string, { entity, project, run }: RunRef): string =>
  `${baseUrl.replace(/(?<!\/)\/+$/, "").replace("//api.wandb.ai", "//wandb.ai")}/${entity}/${project}/runs/${run}`
