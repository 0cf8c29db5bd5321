/**
 * Uploads runs from their metrics files: recorded offline, or left over while their server was unavailable.
 *
 * A run whose process died without recording its end is uploaded as failed. Runs in use by a running process are
 * skipped. Uploading again has no effect.
 */
import { Effect, FileSystem, Path, type PlatformError } from "effect"
import type { HttpClient } from "effect/http"
import * as Retry from "../../base/Retry.ts"
import * as FileSink from "../FileSink.ts"
import * as Replay from "./Replay.ts"
import * as Upload from "./Upload.ts"
import * as WandbApi from "./WandbApi.ts"
import * as WandbRun from "./WandbRun.ts"

export interface Synced {
  readonly folder: string
  readonly name: string
  /** Its URL and number of rows there, or the failure. */
  readonly outcome: { readonly url: string; readonly rows: number } | { readonly failure: string }
}

const attempts = 5

type Needs = FileSystem.FileSystem | HttpClient.HttpClient | Path.Path
type Failure = WandbApi.WandbError | PlatformError.PlatformError

/** Retries as often as it makes sense. */
const patiently = <A, R>(effect: Effect.Effect<A, Failure, R>, attempt = 1): Effect.Effect<A, Failure, R> =>
  effect.pipe(
    Effect.catchIf(
      (error): error is WandbApi.WandbError =>
        error._tag === "WandbError" && error.reason === "passing" && attempt < attempts,
      ({ retryAfterMillis = 0 }) =>
        Effect.flatMap(Retry.backoffMillis(attempt, { atLeast: retryAfterMillis }), Effect.sleep).pipe(
          Effect.andThen(Effect.suspend(() => patiently(effect, attempt + 1)))
        )
    )
  )

/** `to`: where the source's next run begins in the metrics file. */
const uploadOf = Effect.fnUntraced(function* (
  { folder, run }: WandbRun.Stored,
  to: number | undefined,
  options: WandbApi.Options
) {
  yield* WandbRun.hold(folder)
  const path = yield* Path.Path
  const upload = Upload.make(run, yield* WandbApi.make(options))
  const { place } = yield* patiently(upload.connect)
  yield* Replay.into(upload, run, path.join(folder, "..", "..", FileSink.nameOf(run)), to)
  yield* patiently(upload.send)
  const exit = run.exit ?? 1
  yield* patiently(upload.complete(exit))
  const uploaded = { url: Upload.urlOf(options.baseUrl, place), rows: upload.rows() }
  yield* WandbRun.save({ folder, run: { ...run, exit, uploaded } })
  return uploaded
}, Effect.scoped)

/** Uploads all runs in a folder, one after the other; reports each outcome immediately. */
export const run = Effect.fn("WandbSync.run")(function* (
  folder: string,
  options: WandbApi.Options,
  onSynced: (synced: Synced) => Effect.Effect<void>
): Effect.fn.Return<ReadonlyArray<Synced>, PlatformError.PlatformError, Needs> {
  const outcomes: Array<Synced> = []
  const report = (synced: Synced) => {
    outcomes.push(synced)
    return onSynced(synced)
  }
  const path = yield* Path.Path
  const runs = yield* WandbRun.find(folder, ({ message }) =>
    report({ folder, name: "?", outcome: { failure: message } })
  )
  for (const [index, one] of runs.entries()) {
    const { folder, run } = one
    const next = runs
      .slice(index + 1)
      .find((other) => other.run.key === run.key && path.dirname(other.folder) === path.dirname(folder))
    const outcome = run.uploaded
      ? run.uploaded
      : yield* uploadOf(one, next?.run.from, options).pipe(
          Effect.catch(({ message }) => Effect.succeed({ failure: message }))
        )
    yield* report({ folder, name: run.name ?? run.id, outcome })
  }
  return outcomes
})
