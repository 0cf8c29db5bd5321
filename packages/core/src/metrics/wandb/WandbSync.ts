/**
 * Uploads runs stored in folders: recorded offline, or left over while their server was unavailable.
 *
 * A run whose process died without recording its end is uploaded as failed. Folders in use by a running process are
 * skipped. Uploading again has no effect.
 */
import { Clock, Effect, type FileSystem, type Path, type PlatformError } from "effect"
import type { HttpClient } from "effect/http"
import * as Retry from "../../base/Retry.ts"
import { urlOf } from "./BackgroundUpload.ts"
import * as Journal from "./Journal.ts"
import * as Uploader from "./Uploader.ts"
import * as WandbApi from "./WandbApi.ts"

export interface Synced {
  readonly folder: string
  readonly name: string
  /** Its URL and number of rows there, or the failure. */
  readonly outcome: { readonly url: string; readonly rows: number } | { readonly failure: string }
}

const attempts = 5

type Needs = FileSystem.FileSystem | HttpClient.HttpClient | Path.Path

/** Retries as often as it makes sense. */
const patiently = <A>(
  effect: Effect.Effect<A, WandbApi.WandbError | PlatformError.PlatformError>,
  attempt = 1
): Effect.Effect<A, WandbApi.WandbError | PlatformError.PlatformError> =>
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

const upload = Effect.fnUntraced(function* (folder: string, options: WandbApi.Options) {
  const journal = yield* Journal.reopen(folder)
  const api = yield* WandbApi.make(options)
  const uploader = Uploader.make(journal, api)
  yield* patiently(uploader.push)
  if (!uploader.hasEnded()) {
    yield* journal.append([{ exit: 1, at: yield* Clock.currentTimeMillis }])
  }
  const place = yield* patiently(uploader.complete)
  return { url: urlOf(options.baseUrl, place), rows: uploader.progress().uploaded }
}, Effect.scoped)

/** Uploads all runs in a folder, one after the other; reports each outcome immediately. */
export const run = Effect.fn("WandbSync.run")(function* (
  folder: string,
  options: WandbApi.Options,
  onSynced: (synced: Synced) => Effect.Effect<void>
): Effect.fn.Return<ReadonlyArray<Synced>, PlatformError.PlatformError, Needs> {
  const outcomes: Array<Synced> = []
  const tell = (synced: Synced) => {
    outcomes.push(synced)
    return onSynced(synced)
  }
  const journals = yield* Journal.find(folder, ({ message }) =>
    tell({ folder, name: "?", outcome: { failure: message } })
  )
  for (const { folder, run } of journals) {
    const outcome = yield* upload(folder, options).pipe(
      Effect.catch(({ message }) => Effect.succeed({ failure: message }))
    )
    yield* tell({ folder, name: run.name ?? run.id, outcome })
  }
  return outcomes
})
