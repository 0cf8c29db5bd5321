/** Large payloads in an S3 server, small ones and all else in the database. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import * as Database from "../../src/database/Database.ts"
import * as S3 from "../../src/objects/S3.ts"
import * as PgTrajectoryStore from "../../src/postgres/PgTrajectoryStore.ts"
import * as RolloutText from "../../src/rollout/RolloutText.ts"
import { ObjectStore } from "../../src/store/ObjectStore.ts"
import { RolloutReader } from "../../src/store/RolloutReader.ts"
import { TrajectoryStore } from "../../src/store/TrajectoryStore.ts"
import { spec, submission } from "../store/StoreValues.ts"
import * as S3Server from "./S3Server.ts"

const options = (url: URL, secret = S3Server.secretAccessKey): S3.Options => ({
  url,
  accessKeyId: S3Server.accessKeyId,
  secretAccessKey: Redacted.make(secret),
  threshold: 4096
})

const settings = { ...PgTrajectoryStore.defaultSettings, retainedBytes: 60_000, cacheBytes: 0 }

/** A store over the server, with its database and objects. */
const layerOver = (objects: Layer.Layer<never, S3.ObjectStoreError>) =>
  PgTrajectoryStore.layer.pipe(
    Layer.provide(Layer.succeed(PgTrajectoryStore.Settings, settings)),
    Layer.provideMerge(objects),
    Layer.provideMerge(Database.layerPglite())
  )

/** Does not compress. */
const noise = (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes / 2)).join(" ")

const group = (content: string, filling: number) => ({
  ...submission(8, null, content),
  payload: {
    format: "json" as const,
    bytes: new TextEncoder().encode(
      JSON.stringify({ messages: [[{ role: "user", content: `${content} ${noise(filling)}` }]] })
    )
  }
})

const begin = Effect.gen(function* () {
  const store = yield* TrajectoryStore
  yield* store.registerRun(spec("r"))
  yield* store.start("r")
  return store
})

const consume = Effect.fnUntraced(function* () {
  const store = yield* TrajectoryStore
  const batch = Option.getOrThrow(yield* store.claim("r", { owner: "trainer", lease: "1 minute" }))
  yield* store.ack(batch)
  return batch.groups[0]!
})

const names = Effect.gen(function* () {
  const objects = yield* ObjectStore
  return yield* objects!.list("", undefined)
})

const messageOf = (given: S3.Options) =>
  Effect.map(Effect.flip(Effect.scoped(Layer.build(S3.layer(given)))), ({ message }) => message)

const texts = (groups: ReadonlyArray<{ readonly payload: { readonly bytes: Uint8Array } }>) =>
  groups.map(({ payload }) => /part|whole|kept/.exec(new TextDecoder().decode(payload.bytes))?.[0])

describe("payloads in object storage", () => {
  it.effect("are those beyond the threshold; claims, readers and searches get them as they were", () =>
    Effect.gen(function* () {
      const server = yield* S3Server.make
      yield* Effect.gen(function* () {
        const store = yield* begin
        const reader = yield* RolloutReader
        const sql = yield* SqlClient.SqlClient
        const sent = [group("needle", 20_000), group("small", 100)]
        yield* store.submit("r", sent)
        assert.lengthOf(yield* names, 1)
        const rows = yield* sql<{ bytes: number; stored: bigint }>`
          select octet_length(payload) as bytes, stored_bytes(encoding, payload) as stored from grp order by id`
        assert.strictEqual(rows[0]!.bytes, 44)
        // They count where bytes are counted.
        assert.isAbove(Number(rows[0]!.stored), 10_000)
        assert.isAbove((yield* store.summary("r")).queuedBytes, 10_000)
        assert.isBelow(rows[1]!.bytes, 1000)
        const id = (yield* reader.rollouts("r", { limit: 2 })).rows[1]!.id
        const read = Option.getOrThrow(yield* reader.rollout("r", id))
        assert.isTrue(Buffer.from(read.payload.bytes).equals(sent[0]!.payload.bytes))
        const found = yield* TestClock.adjust("1 second").pipe(
          Effect.andThen(reader.rollouts("r", { limit: 2, text: RolloutText.parse("needle")! })),
          Effect.repeat({ until: ({ unindexed }) => unindexed === 0 })
        )
        assert.deepStrictEqual([found.total, found.rows[0]?.preview?.startsWith("needle")], [1, true])
        assert.isTrue(Buffer.from((yield* consume()).payload.bytes).equals(sent[0]!.payload.bytes))
        assert.isTrue(Buffer.from((yield* consume()).payload.bytes).equals(sent[1]!.payload.bytes))
      }).pipe(Effect.provide(layerOver(S3.layer(options(server.url)))))
    })
  )

  it.effect("are swept when their groups are gone or never came, two hours after they were written", () =>
    Effect.gen(function* () {
      const server = yield* S3Server.make
      yield* Effect.gen(function* () {
        const store = yield* begin
        const objects = yield* ObjectStore
        // Equal payloads of an hour are one object.
        const twice = group("twice", 20_000)
        yield* store.submit("r", [twice])
        yield* store.submit("r", [{ ...twice, key: crypto.randomUUID() }])
        yield* store.submit("r", [group("another", 20_000), group("last", 20_000)])
        const all = yield* names
        assert.lengthOf(all, 3)
        const orphan = all[0]!.slice(0, -64) + "0".repeat(64)
        yield* objects!.put(orphan, new Uint8Array(10))
        yield* objects!.put("of-somebody-else", new Uint8Array(10))
        // Three of four are consumed, and two of those dropped: more is kept than 60,000 bytes.
        for (let i = 0; i < 3; i++) yield* consume()
        yield* TestClock.adjust("61 minutes")
        assert.include(yield* names, orphan)
        const left = yield* TestClock.adjust("11 minutes").pipe(
          Effect.andThen(names),
          Effect.repeat({ until: (left) => !left.includes(orphan) && left.length < 5 })
        )
        assert.include(left, "of-somebody-else")
        const last = yield* consume()
        assert.include(new TextDecoder().decode(last.payload.bytes), "last")
      }).pipe(Effect.provide(layerOver(S3.layer(options(server.url)))))
    })
  )

  it.effect("are swept with their run when it is deleted", () =>
    Effect.gen(function* () {
      const server = yield* S3Server.make
      yield* Effect.gen(function* () {
        const store = yield* begin
        yield* store.registerRun(spec("other"))
        yield* store.submit("r", [group("waits", 20_000)])
        yield* store.submit("other", [group("stays", 20_000)])
        assert.lengthOf(yield* names, 2)
        yield* TestClock.adjust("2 minutes")
        yield* store.deleteRun("r")
        yield* TestClock.adjust("3 hours")
        const left = yield* TestClock.adjust("11 minutes").pipe(
          Effect.andThen(names),
          Effect.repeat({ until: ({ length }) => length < 2 })
        )
        assert.lengthOf(left, 1)
        const [row] = (yield* (yield* RolloutReader).rollouts("other", { limit: 1 })).rows
        const read = Option.getOrThrow(yield* (yield* RolloutReader).rollout("other", row!.id))
        assert.include(new TextDecoder().decode(read.payload.bytes), "stays")
      }).pipe(Effect.provide(layerOver(S3.layer(options(server.url)))))
    })
  )

  it.live("make submissions wait for them: what cannot be written there is not accepted", () =>
    Effect.gen(function* () {
      const server = yield* S3Server.make
      yield* Effect.gen(function* () {
        const store = yield* begin
        const sent = group("late", 20_000)
        yield* server.stop
        const error = yield* Effect.flip(store.submit("r", [sent]))
        assert.isTrue(error._tag === "StoreError" && error.isTransient)
        assert.match(error.message, /the object storage http.* failed: PUT/)
        assert.deepStrictEqual(yield* store.submit("r", [group("small", 100)]), [{ status: "received" }])
        yield* server.again
        assert.deepStrictEqual(yield* store.submit("r", [sent]), [{ status: "received" }])
      }).pipe(Effect.provide(layerOver(S3.layer(options(server.url)))))
    })
  )

  it.live("are not handed on where they are not what was written, or no longer there", () =>
    Effect.gen(function* () {
      const server = yield* S3Server.make
      yield* Effect.gen(function* () {
        const store = yield* begin
        const reader = yield* RolloutReader
        yield* store.submit("r", [group("altered", 20_000)])
        const [name] = [...server.objects.keys()]
        const { id } = (yield* reader.rollouts("r", { limit: 1 })).rows[0]!
        server.objects.set(name!, new Uint8Array(5))
        assert.match((yield* Effect.flip(reader.rollout("r", id))).message, /its bytes differ from those written/)
        server.objects.clear()
        assert.match((yield* Effect.flip(reader.rollout("r", id))).message, /404 not found/)
      }).pipe(Effect.provide(layerOver(S3.layer(options(server.url)))))
    })
  )

  it.live("that are lost cost their groups and no more: the batch goes out without them, or the next one does", () =>
    Effect.gen(function* () {
      const server = yield* S3Server.make
      const small = (content: string) => ({ ...group(content, 100), sequences: 4, scores: [1, 1, 1, 1] })
      yield* Effect.gen(function* () {
        const store = yield* begin
        const claim = Effect.map(store.claim("r", { owner: "t", lease: "1 minute" }), Option.getOrThrow)
        yield* store.submit("r", [{ ...group("gone", 20_000), sequences: 4, scores: [1, 1, 1, 1] }, small("part")])
        yield* store.submit("r", [group("altered", 20_000)])
        yield* store.submit("r", [group("whole", 20_000)])
        const [gone, altered, whole] = [...server.objects.keys()]
        const kept = server.objects.get(whole!)!
        // A bucket that is away is no loss: the claim fails, and is there again with it.
        server.objects.delete(gone!)
        server.objects.set(altered!, new Uint8Array(5))
        const first = yield* claim
        assert.deepStrictEqual(texts(first.groups), ["part"])
        yield* store.nack(first)
        const again = yield* claim
        assert.deepStrictEqual([again.step, texts(again.groups)], [first.step, ["part"]])
        yield* store.ack(again)
        // All of the second batch is lost: the third goes out.
        const third = yield* claim
        assert.deepStrictEqual(texts(third.groups), ["whole"])
        assert.strictEqual(third.step, first.step + 2)
        assert.deepStrictEqual(server.objects.get(whole!), kept)
        yield* store.ack(third)
        assert.isTrue(Option.isNone(yield* store.claim("r", { owner: "t", lease: "1 minute" })))
      }).pipe(Effect.provide(layerOver(S3.layer(options(server.url)))))
    })
  )

  it.live("are refused at the start where the key, the bucket or the address is wrong", () =>
    Effect.gen(function* () {
      const server = yield* S3Server.make
      assert.match(yield* messageOf(options(server.url, "another")), /403 SignatureDoesNotMatch/)
      assert.match(yield* messageOf(options(new URL("/nothing", server.url))), /404/)
      assert.match(yield* messageOf(options(new URL("/", server.url))), /has no bucket/)
    })
  )
})
