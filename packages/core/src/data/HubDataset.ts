/**
 * The parquet files of a Hugging Face data set, downloaded once: `owner/name/[config/]split`.
 *
 * The hub lists them at `/api/datasets/<owner>/<name>/parquet/<config>/<split>`; listing and files are kept on disk, so
 * that a second run needs no network. To download a data set again, delete its folder in the cache.
 */
import { Effect, FileSystem, Path, Schema, Stream } from "effect"
import { DatasetError } from "./DatasetError.ts"
import * as HubFiles from "./HubFiles.ts"

const Listing = Schema.fromJsonString(Schema.Array(Schema.String))
const Overview = Schema.fromJsonString(
  Schema.Record(Schema.String, Schema.Record(Schema.String, Schema.Array(Schema.String)))
)

/** Paths of the local copies, in order, each as soon as it exists. */
export const files = Effect.fn("HubDataset.files")(function* (source: string) {
  const path = yield* Path.Path
  const fileSystem = yield* FileSystem.FileSystem
  const failure = (message: string, cause?: unknown): DatasetError =>
    new DatasetError({ source, message, ...(cause !== undefined && { cause }) })
  const parts = source.split("/")
  const [owner, name] = parts
  const split = parts.at(-1)
  if (parts.length < 3 || parts.length > 4 || split === undefined || !parts.every(HubFiles.isName)) {
    return yield* failure(
      `"${source}" is neither a file (.jsonl, .json, .csv, .tsv, .parquet), a folder of such (./folder) nor a data set of the hub (owner/name/split or owner/name/configuration/split)`
    )
  }
  const fromHub = Effect.mapError((error: HubFiles.HubError) => failure(`${source}: ${error.message}`, error))
  const hub = yield* HubFiles.make.pipe(fromHub)
  const api = `api/datasets/${owner}/${name}/parquet`
  const folder = yield* hub.cacheFolder("datasets", `${owner}--${name}`).pipe(fromHub)
  const readJson = <A>(file: string, decode: (text: string) => Effect.Effect<A, unknown>) =>
    fileSystem.readFileString(file).pipe(
      Effect.flatMap(decode),
      Effect.mapError((cause) => failure(`${file} differs from the hub's listing; delete it to fetch it again`, cause))
    )

  const overview = Effect.gen(function* () {
    const file = path.join(folder, "parquet.json")
    yield* hub.fetch(api, file).pipe(fromHub)
    return yield* readJson(file, Schema.decodeUnknownEffect(Overview))
  })
  const configuration = parts.length === 4 ? (parts[2] ?? "") : yield* onlyConfiguration(source, overview)

  const listing = path.join(folder, configuration, split, "parquet.json")
  yield* hub.fetch(`${api}/${configuration}/${split}`, listing).pipe(
    Effect.catchIf(
      ({ reason }) => reason === "notFound",
      (error) =>
        overview.pipe(
          Effect.mapError(() => failure(`${source}: ${error.message}`, error)),
          Effect.flatMap((known) =>
            failure(`${source}: unknown configuration or split; available: ${listConfigurations(known)}`, error)
          )
        )
    ),
    Effect.mapError((error) => (error instanceof DatasetError ? error : failure(`${source}: ${error.message}`, error)))
  )
  const addresses = yield* readJson(listing, Schema.decodeUnknownEffect(Listing))
  return Stream.fromArray(addresses.map((address, index) => ({ address, index }))).pipe(
    // The next file is downloaded while this one is read.
    Stream.mapEffect(
      ({ address, index }) => {
        const file = path.join(folder, configuration, split, `${index}.parquet`)
        return hub.fetch(address, file).pipe(fromHub, Effect.as(file))
      },
      { concurrency: 2 }
    )
  )
})

type Overview = typeof Overview.Type

const onlyConfiguration = Effect.fnUntraced(function* <R>(
  source: string,
  overview: Effect.Effect<Overview, DatasetError, R>
) {
  const info = yield* overview
  const names = Object.keys(info)
  if (names.includes("default")) return "default"
  const [only] = names
  if (only !== undefined && names.length === 1) return only
  return yield* new DatasetError({
    source,
    message: `${source}: the data set has several configurations; give one of ${listConfigurations(info)}`
  })
})

const listConfigurations = (known: Overview): string =>
  Object.entries(known)
    .flatMap(([configuration, splits]) => Object.keys(splits).map((split) => `${configuration}/${split}`))
    .join(", ")
