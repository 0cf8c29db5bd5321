/**
 * Payloads in object storage. A row has in place of the payload's bytes a reference to an object, which is written
 * before the row is: the hour of writing, the SHA-256 of the stored bytes, and their number. Two equal payloads of an
 * hour are one object.
 *
 * The hour is what makes sweeping safe: objects are only ever written into the hour that is, so one of an hour long
 * past that no row refers to is an orphan, and no row can come that does (`ObjectSweep`). Names begin with an id of the
 * database, for several of them may share a bucket.
 */
import { Uuid } from "@atropos/core"
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { ObjectStore } from "../../store/ObjectStore.ts"
import { StoreError } from "../../store/TrajectoryStore.ts"
import type { Stored } from "./Codec.ts"

export interface Objects {
  /** Writes the bytes into object storage where they are large and there is one. */
  readonly outsource: (stored: Stored) => Effect.Effect<Stored, StoreError | SqlError>
  /** Reads the bytes from there where they are not in the row. */
  readonly bring: <Row extends StoredRow>(row: Row) => Effect.Effect<Row, StoreError | SqlError>
}

/** What `grp` has of a payload. */
export interface StoredRow {
  readonly encoding: number
  readonly payload: Uint8Array
}

/** Added to an encoding (`Codec`): the bytes are a reference. */
const outside = 4
const hourMillis = 3_600_000

/** What an object's name and a row's reference have in common: 4 bytes of hours since 1970, 32 of digest. */
const identityBytes = 36
/** And 8 of the number of bytes. */
const referenceBytes = identityBytes + 8

export const isOutside = (encoding: number): boolean => encoding >= outside

/** The number of stored bytes, wherever they are. */
export const bytesOf = ({ bytes, encoding }: Stored): number =>
  isOutside(encoding) ? Number(Buffer.from(bytes).readBigUInt64BE(identityBytes)) : bytes.length

/** `<hour>/<digest>`, in the order of hours. */
export const nameOf = (identity: Uint8Array): string => {
  const at = Buffer.from(identity)
  const hour = new Date(at.readUInt32BE(0) * hourMillis).toISOString().slice(0, 13)
  return `${hour}/${at.subarray(4, identityBytes).toString("hex")}`
}

/** The identity in a name; undefined where it is no name of ours. */
export const identityIn = (name: string): Uint8Array | undefined => {
  const [, hour, digest] = /^(\d{4}-\d\d-\d\dT\d\d)\/([0-9a-f]{64})$/.exec(name) ?? []
  const millis = Date.parse(`${hour}:00:00Z`)
  if (digest === undefined || Number.isNaN(millis)) return undefined
  const identity = Buffer.alloc(identityBytes)
  identity.writeUInt32BE(millis / hourMillis, 0)
  identity.write(digest, 4, "hex")
  return identity
}

/** When it was written, to the hour. */
export const hourOf = (identity: Uint8Array): number => Buffer.from(identity).readUInt32BE(0) * hourMillis

const digestOf = (bytes: Uint8Array) =>
  Effect.promise(async () => Buffer.from(await crypto.subtle.digest("SHA-256", Buffer.from(bytes))))

const unreachable = new StoreError({
  message: "payloads of this database are in object storage, and none is configured: set ATROPOS_OBJECTS",
  isTransient: false,
  cause: undefined
})

/** What the names of this database's objects begin with; made when it is first asked for. */
export const home = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ home: string }>`
    insert into object_home (id, home) values (1, ${Uuid.v7()}::uuid)
    on conflict (id) do update set home = object_home.home returning home::text as home`
  // A statement with one row.
  return `${row!.home}/`
})

export const make = Effect.gen(function* (): Effect.gen.Return<Objects, never, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient
  const store = yield* ObjectStore
  let known: string | undefined
  const prefix = Effect.suspend(() =>
    known === undefined
      ? Effect.tap(Effect.provideService(home, SqlClient.SqlClient, sql), (found) =>
          Effect.sync(() => void (known = found))
        )
      : Effect.succeed(known)
  )

  const outsource: Objects["outsource"] = Effect.fnUntraced(function* (stored: Stored) {
    if (store === undefined || stored.bytes.length < store.threshold) return stored
    const now = yield* Clock.currentTimeMillis
    const reference = Buffer.alloc(referenceBytes)
    reference.writeUInt32BE(Math.floor(now / hourMillis), 0)
    reference.set(yield* digestOf(stored.bytes), 4)
    reference.writeBigUInt64BE(BigInt(stored.bytes.length), identityBytes)
    yield* store.put(`${yield* prefix}${nameOf(reference)}`, stored.bytes)
    return { encoding: stored.encoding + outside, bytes: reference }
  })

  const bring: Objects["bring"] = Effect.fnUntraced(function* (row) {
    if (!isOutside(row.encoding)) return row
    if (store === undefined) return yield* unreachable
    const name = `${yield* prefix}${nameOf(row.payload)}`
    const payload = yield* store.get(name)
    const digest = yield* digestOf(payload)
    if (!digest.equals(Buffer.from(row.payload).subarray(4, identityBytes))) {
      const message = `the object ${name} in ${store.location} has other bytes than were written`
      return yield* new StoreError({ message, isTransient: false, isLost: true, cause: undefined })
    }
    return { ...row, encoding: row.encoding - outside, payload }
  })

  return { outsource, bring }
})
