/**
 * Files of the Hugging Face hub, downloaded once and kept on disk.
 *
 * A file is written under a temporary name and renamed when complete, so that an existing file is complete; an
 * interrupted download is resumed, unless the file changed on the hub meanwhile. Several processes may download
 * simultaneously. Settings: `HF_ENDPOINT`, `HF_TOKEN`, `HF_HUB_OFFLINE`, `HF_HOME` (files are in `$HF_HOME/atropos`,
 * else in `.atropos`).
 */
import {
  ByteSize,
  Config,
  Effect,
  FileSystem,
  Option,
  Path,
  Redacted,
  Schedule,
  Schema,
  Semaphore,
  Stream
} from "effect"
import { HttpClient, HttpClientRequest, type HttpClientResponse } from "effect/http"
import * as Platform from "../base/system/Platform.ts"
import * as Reason from "../base/Reason.ts"

const HubFailure = Schema.Literals([
  "unauthorized", // 401, 403: a token or a click on "agree" is missing
  "notFound", // 404
  "offline", // HF_HUB_OFFLINE is set and the file is not on disk
  "unreachable", // no connection, it broke, or 5xx
  "rejected", // any other answer
  "disk" // the file cannot be written
])

export class HubError extends Schema.TaggedError<HubError>()("HubError", {
  reason: HubFailure,
  url: Schema.String,
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

export interface HubFiles {
  /** A folder of the cache, created if necessary. */
  readonly cacheFolder: (...parts: ReadonlyArray<string>) => Effect.Effect<string, HubError>
  /** Downloads `address` (below the endpoint, or a whole URL) to the file `target`; does nothing if the file exists. */
  readonly fetch: (address: string, target: string) => Effect.Effect<void, HubError>
}

/** A name on the hub: not only dots, which lead outside of the cache. */
const segment = /^(?!\.+$)[\w.-]+$/
/** A commit, a tag or a branch, such as `refs/pr/1`: git allows neither two dots nor a part that begins with a dot. */
const revisionPattern = /^\w[\w.+-]*(\/\w[\w.+-]*)*$/

export interface Repository {
  /** `owner/name`, or `name` */
  readonly id: string
  readonly revision: string
  /** Under the cache, and exactly one level deep. */
  readonly folder: string
  /** The address of its files, below the endpoint. */
  readonly address: string
}

/** Parses `owner/name` or `owner/name@revision`; undefined otherwise, so that no name leads outside of the cache. */
export const repository = (name: string): Repository | undefined => {
  const at = name.indexOf("@")
  const id = at === -1 ? name : name.slice(0, at)
  const revision = at === -1 ? "main" : name.slice(at + 1)
  const parts = id.split("/")
  if (parts.length > 2 || !parts.every(isName) || !revisionPattern.test(revision) || revision.includes("..")) return
  const encoded = encodeURIComponent(revision)
  return { id, revision, folder: `${parts.join("--")}@${encoded}`, address: `${id}/resolve/${encoded}` }
}

/** True if a part of a name is valid, and no path to another folder. */
export const isName = (part: string): boolean => segment.test(part)

const settings = Config.all({
  endpoint: Config.NonEmptyString("HF_ENDPOINT").pipe(Config.withDefault("https://huggingface.co")),
  token: Config.Redacted("HF_TOKEN").pipe(Config.option),
  home: Config.NonEmptyString("HF_HOME").pipe(Config.option),
  offline: Config.Boolean("HF_HUB_OFFLINE").pipe(Config.withDefault(false))
})

/** One concurrent download per file in this process. */
const locks = new Map<string, Semaphore.Semaphore>()

const lockOf = (target: string): Semaphore.Semaphore => {
  const lock = locks.get(target) ?? Semaphore.makeUnsafe(1)
  locks.set(target, lock)
  return lock
}

const partialPattern = /\.(\d+)\.partial$/

const retries = Schedule.exponential("250 millis").pipe(Schedule.jittered, Schedule.upTo({ times: 3 }))

/** Reads the settings; failures name the variable. */
export const make = Effect.gen(function* () {
  const files = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const client = yield* HttpClient.HttpClient
  const { endpoint, home, offline, token } = yield* settings.pipe(Effect.mapError(invalidSettings))
  const base = endpoint.replace(/(?<!\/)\/+$/, "")
  const root = Option.match(home, { onNone: () => path.resolve(".atropos"), onSome: (at) => path.join(at, "atropos") })

  const onDisk =
    (url: string, file: string) =>
    <A, R>(effect: Effect.Effect<A, unknown, R>): Effect.Effect<A, HubError, R> =>
      Effect.mapError(effect, (cause) =>
        cause instanceof HubError
          ? cause
          : new HubError({ reason: "disk", url, message: `cannot write ${file}: ${Reason.of(cause)}`, cause })
      )

  const request = (url: string, from: number, version: Option.Option<string>): HttpClientRequest.HttpClientRequest =>
    HttpClientRequest.get(url).pipe(
      // The token is only sent to the hub; a listing may contain addresses elsewhere.
      Option.isSome(token) && url.startsWith(`${base}/`)
        ? HttpClientRequest.bearerToken(Redacted.value(token.value))
        : (same) => same,
      from > 0 && Option.isSome(version)
        ? HttpClientRequest.setHeaders({ range: `bytes=${from}-`, "if-range": version.value })
        : (same) => same
    )

  const download = Effect.fnUntraced(function* (url: string, partial: string) {
    const versionFile = `${partial}.etag`
    const version = yield* files.readFileString(versionFile).pipe(Effect.option)
    const have = yield* files.stat(partial).pipe(
      Effect.map(({ size }) => Number(ByteSize.toBigInt(size))),
      Effect.orElseSucceed(() => 0)
    )
    const response = yield* client.execute(request(url, have, version)).pipe(
      Effect.timeout("60 seconds"),
      Effect.mapError((cause) => unreachable(url, cause)),
      // 416: the file on disk is already complete, or too long; both lead to a new download.
      Effect.tap(({ status }) => (status === 416 ? files.remove(partial).pipe(onDisk(url, partial)) : Effect.void)),
      Effect.filterOrElse(
        ({ status }) => status === 200 || status === 206,
        (answer) => refusal(answer, url, Option.isSome(token))
      )
    )
    const etag = response.headers["etag"]
    if (etag !== undefined && !etag.startsWith("W/")) {
      yield* files.writeFileString(versionFile, etag).pipe(onDisk(url, versionFile))
    }
    yield* response.stream.pipe(
      Stream.timeoutOrElse({
        duration: "60 seconds",
        orElse: () => Stream.fail(unreachable(url, new Error("no data for 60 seconds")))
      }),
      Stream.mapError((cause) => (cause instanceof HubError ? cause : unreachable(url, cause))),
      Stream.run(files.sink(partial, { flag: response.status === 206 ? "a" : "w" })),
      onDisk(url, partial)
    )
    yield* files.remove(versionFile, { force: true }).pipe(onDisk(url, versionFile))
  })

  /** This process's unfinished file; one left behind by a dead process is taken over. */
  const adoptPartial = Effect.fnUntraced(function* (target: string) {
    const own = `${target}.${process.pid}.partial`
    const name = path.basename(target)
    const siblings = yield* files.readDirectory(path.dirname(target)).pipe(Effect.orElseSucceed(() => []))
    const left = yield* Effect.filter(
      siblings.filter((file) => file.startsWith(`${name}.`) && partialPattern.test(file)),
      (file) => Effect.map(Platform.isAlive(Number(partialPattern.exec(file)?.[1])), (alive) => !alive)
    )
    if (left[0] === undefined) return own
    const first = path.join(path.dirname(target), left[0])
    return yield* files.rename(first, own).pipe(
      Effect.andThen(files.rename(`${first}.etag`, `${own}.etag`)),
      // Another process was faster, or the file has no version to resume by: start from scratch.
      Effect.ignore,
      Effect.as(own)
    )
  })

  /** Writes are only allowed below the cache. */
  const inCache = (file: string): Effect.Effect<void, HubError> => {
    const way = path.relative(root, file)
    return way === ".." || way.startsWith(`..${path.sep}`) || path.isAbsolute(way)
      ? Effect.fail(new HubError({ reason: "disk", url: file, message: `${file} is outside the cache, ${root}` }))
      : Effect.void
  }

  const fetch = Effect.fn("HubFiles.fetch")(function* (address: string, target: string) {
    yield* inCache(target)
    const url = /^https?:/.test(address) ? address : `${base}/${address}`
    const isThere = yield* files.exists(target).pipe(onDisk(url, target))
    if (!isThere)
      yield* offline ? Effect.fail(missing(url, target)) : lockOf(target).withPermits(1)(downloadTo(url, target))
  })

  const downloadTo = Effect.fnUntraced(function* (url: string, target: string) {
    // Another fiber may have downloaded it while this one waited.
    if (yield* files.exists(target).pipe(onDisk(url, target))) return
    yield* files.makeDirectory(path.dirname(target), { recursive: true }).pipe(onDisk(url, target))
    const partial = yield* adoptPartial(target)
    yield* download(url, partial).pipe(
      Effect.retry({ schedule: retries, while: ({ reason }) => reason === "unreachable" })
    )
    yield* files.rename(partial, target).pipe(onDisk(url, target))
  })

  const cacheFolder = (...parts: ReadonlyArray<string>): Effect.Effect<string, HubError> => {
    const folder = path.join(root, ...parts)
    return Effect.andThen(
      inCache(folder),
      files.makeDirectory(folder, { recursive: true }).pipe(Effect.as(folder), onDisk(folder, folder))
    )
  }
  const hub: HubFiles = { cacheFolder, fetch }
  return hub
})

const missing = (url: string, target: string): HubError =>
  new HubError({
    reason: "offline",
    url,
    message: `HF_HUB_OFFLINE is set and ${target} does not exist: download ${url} once while online`
  })

const invalidSettings = (cause: Config.ConfigError): HubError =>
  new HubError({ reason: "rejected", url: "", message: `settings of the Hugging Face hub: ${cause.message}`, cause })

const unreachable = (url: string, cause: unknown): HubError =>
  new HubError({
    reason: "unreachable",
    url,
    message: `${url} cannot be reached (${Reason.of(cause)}); without a network, use a local file or set HF_HOME to a filled cache`,
    cause
  })

const refusal = (
  { status }: HttpClientResponse.HttpClientResponse,
  url: string,
  hasToken: boolean
): Effect.Effect<never, HubError> => {
  const fail = (reason: typeof HubFailure.Type, what: string) =>
    Effect.fail(new HubError({ reason, url, message: `${url} answered ${status}: ${what}` }))
  if (status === 401) {
    return fail(
      "unauthorized",
      hasToken
        ? "HF_TOKEN is invalid, or the repository does not exist"
        : "the repository does not exist, or is private or gated: set HF_TOKEN to an access token"
    )
  }
  if (status === 403) {
    return fail(
      "unauthorized",
      `${hasToken ? "the account of HF_TOKEN has no access" : "no access without HF_TOKEN"}; accept the repository's conditions on its web page`
    )
  }
  if (status === 404) return fail("notFound", "repository, configuration, split or file not found; check the spelling")
  if (status >= 500 || status === 429 || status === 416)
    return fail("unreachable", "the hub has a problem; retry later")
  return fail("rejected", "unexpected answer; check HF_ENDPOINT")
}
