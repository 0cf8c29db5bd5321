/**
 * Journal of a trainer's leases: `leases.json` next to the checkpoints.
 *
 * The successor of a killed trainer releases the leases listed here, so that their batches are redelivered immediately
 * and in order. Losing the file only costs the wait for their expiry, so it is written without syncing.
 */
import { Effect, FileSystem, Option, Path, Schema } from "effect"
import * as CheckpointError from "./CheckpointError.ts"

const Journal = Schema.Struct({
  /** Step of the run's first batch, if this folder's trainer registered the run; else null. */
  firstStep: Schema.NullOr(Schema.Int),
  leases: Schema.Array(Schema.Struct({ id: Schema.String, step: Schema.Int, leaseToken: Schema.String }))
})
export type Journal = typeof Journal.Type
export type Lease = Journal["leases"][number]

const File = Schema.Struct({
  ...Journal.fields,
  /** Without it, the steps of batches counted the steps before them, as in version 1 of `TrainerState`. */
  version: Schema.optionalKey(Schema.Literal(2))
}).pipe(Schema.encodeKeys({ firstStep: "first_step" }))

const codec = Schema.fromJsonString(File)
const decode = Schema.decodeUnknownEffect(codec)
const encode = Schema.encodeEffect(codec)

const renewed = ({ firstStep, leases, version }: typeof File.Type): Journal => {
  const by = version === undefined ? 1 : 0
  return {
    firstStep: firstStep === null ? null : firstStep + by,
    leases: leases.map((lease) => ({ ...lease, step: lease.step + by }))
  }
}

const fileName = "leases.json"

/** The folder's journal; none if missing or, with a warning, unreadable. */
export const read = Effect.fn("LeaseJournal.read")(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  const path = (yield* Path.Path).join(folder, fileName)
  if (!(yield* Effect.mapError(fs.exists(path), CheckpointError.at(path)))) return Option.none<Journal>()
  return yield* fs.readFileString(path).pipe(
    Effect.flatMap(decode),
    Effect.map(renewed),
    Effect.asSome,
    Effect.tapError(({ message }) => Effect.logWarning("lease journal could not be read", { path, message })),
    Effect.orElseSucceed(() => Option.none<Journal>())
  )
})

export const write = Effect.fn("LeaseJournal.write")(function* (folder: string, journal: Journal) {
  const fs = yield* FileSystem.FileSystem
  const path = (yield* Path.Path).join(folder, fileName)
  yield* encode({ ...journal, version: 2 }).pipe(
    Effect.flatMap((text) => fs.writeFileString(`${path}.partial`, `${text}\n`)),
    Effect.andThen(fs.rename(`${path}.partial`, path)),
    Effect.mapError(CheckpointError.at(path))
  )
})
