/**
 * Stores payloads in object storage. A row has a reference instead of the bytes: the hour of writing, the SHA-256 of
 * the stored bytes, and their number. The object is written before its row; equal payloads of the same hour share one.
 *
 * Objects are only written to the current hour, so that an unreferenced object of a long past hour can be swept: no
 * later row can refer to it (`ObjectSweep`). Names begin with an id of the database, since databases may share a
 * bucket.
 */
import { Uuid } from "@atropos/core"
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { ObjectStore } from "../../store/ObjectStore.ts"
import { StoreError } from "../../store/TrajectoryStore.ts"
import type { Stored } from "./Codec.ts"

export interface Objects {
  /** Moves large payloads to object storage, if configured. */
  readonly outsource: (stored: Stored) => Effect.Effect<Stored, StoreError | SqlError>
  /** Fetches a payload that is not in its row. */
  readonly bring: <Row extends StoredRow>(row: Row) => Effect.Effect<Row, StoreError | SqlError>
}

export interface StoredRow {
  readonly encoding: number
  readonly payload: Uint8Array
}

/** Added to an encoding (`Codec`): the bytes are a reference. */
const outside = 4
const hourMillis = 3_600_000

/** The identity in an object's name and a row's reference: 4 bytes of hours since 1970, 32 of digest. */
const identityBytes = 36
/** Followed by 8 bytes for the number of stored bytes. */
const referenceBytes = identityBytes + 8

export const isOutside = (encoding: number): boolean => encoding >= outside

/** The number of stored bytes, in the row or in object storage. */
export const bytesOf = ({ bytes, encoding }: Stored): number =>
  isOutside(encoding) ? Number(Buffer.from(bytes).readBigUInt64BE(identityBytes)) : bytes.length

/** `<hour>/<digest>`, sorted by hour. */
export const nameOf = (identity: Uint8Array): string => {
  const at = Buffer.from(identity)
  const hour = new Date(at.readUInt32BE(0) * hourMillis).toISOString().slice(0, 13)
  return `${hour}/${at.subarray(4, identityBytes).toString("hex")}`
}

/** Parses the identity from a name; undefined for foreign names. */
export const identityIn = (name: string): Uint8Array | undefined => {
  const [, hour, digest] = /^(\d{4}-\d\d-\d\dT\d\d)\/([0-9a-f]{64})$/.exec(name) ?? []
  const millis = Date.parse(`${hour}:00:00Z`)
  if (digest === undefined || Number.isNaN(millis)) return undefined
  const identity = Buffer.alloc(identityBytes)
  identity.writeUInt32BE(millis / hourMillis, 0)
  identity.write(digest, 4, "hex")
  return identity
}

/** Time of writing, to the hour. */
export const hourOf = (identity: Uint8Array): number => Buffer.from(identity).readUInt32BE(0) * hourMillis

const digestOf = (bytes: Uint8Array) =>
  Effect.promise(async () => Buffer.from(await crypto.subtle.digest("SHA-256", Buffer.from(bytes))))

const unreachable = new StoreError({
  message: "payloads of this database are in object storage, which is not configured: set ATROPOS_OBJECTS",
  isTransient: false,
  cause: undefined
})

/** The name prefix of this database's objects; created on first use. */
export const home = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ home: string }>`
    insert into object_home (id, home) values (1, ${Uuid.v7()}::uuid)
    on conflict (id) do update set home = object_home.home returning home::text as home`
  // The statement always returns one row.
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
      const message = `the object ${name} in ${store.location} is corrupt: its bytes differ from those written`
      return yield* new StoreError({ message, isTransient: false, isLost: true, cause: undefined })
    }
    return { ...row, encoding: row.encoding - outside, payload }
  })

  return { outsource, bring }
})
