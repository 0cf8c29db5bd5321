/**
 * The service killed in the midst of load, on every kind of database: what it answered for is there, once, and is
 * handed out once.
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import * as Groups from "./Groups.ts"
import type * as KillMoment from "./KillMoment.ts"
import * as Load from "./Load.ts"
import * as Service from "./Service.ts"
import * as Trainer from "./Trainer.ts"

const layerParts = Layer.merge(NodeServices.layer, NodeHttpClient.layerUndici)

type Kills = readonly [KillMoment.KillMoment, ...ReadonlyArray<KillMoment.KillMoment>]

const stored: KillMoment.KillMoment = { of: "answered", when: "before", what: /^POST .*\/groups$/, nth: 12 }

/**
 * One life of the service for each: it has done what it was asked for, and whoever asked does not know. Where groups
 * are kept is the database's own; how batches are handed out is the same on all.
 */
const killsOn = (database: Service.Database): Kills =>
  database === Service.pglite
    ? [
        stored,
        { of: "answered", when: "before", what: /^POST .*\/claim$/, nth: 4 },
        { of: "answered", when: "after", what: /^POST .*\/ack$/, nth: 3 }
      ]
    : [stored]

/** Load from all sides until the service is dead. */
const loadUntilKilled = (
  { client, process, url }: Service.ServiceProcess,
  envId: number,
  ledger: Load.Ledger,
  taken: Trainer.Taken
) =>
  Effect.all(
    [
      Load.submitAll({ url, client, envId }, ledger),
      Effect.ignore(Effect.forever(Trainer.takeOne(client, taken, 1000))),
      process.killed
    ],
    { concurrency: "unbounded", discard: true }
  )

for (const database of Service.databases) {
  describe(`atropos api on ${database.name}`, () => {
    it.live("killed under load, has what it answered for, once, and hands it out once", () =>
      Effect.gen(function* () {
        const place = yield* database.make
        const kills = killsOn(database)
        const ledger = Load.ledger()
        const taken: Trainer.Taken = new Map()
        let service = yield* Service.start(place, { killAt: kills[0] })
        const envId = yield* Trainer.begin(service.client)
        yield* Load.sendKeyed({ ...service, envId }, ledger, Load.drawKeyed(ledger, 2))
        // It stays with its trainer through all that follows.
        const claim = yield* service.client.claim({ owner: "patient", wait: "1 minute", lease: "1 hour" })
        const held = Option.getOrThrow(claim)
        const sendAgain = Effect.fnUntraced(function* ({ client }: Service.Service) {
          for (const groups of ledger.open.splice(0)) yield* Load.sendKeyed({ client, envId }, ledger, groups)
          const again = yield* client.submit(envId, ledger.lastKeyed)
          assert.deepStrictEqual(
            again.map(({ status }) => status),
            ["duplicate", "duplicate"]
          )
        })
        for (const killAt of kills.slice(1)) {
          yield* loadUntilKilled(service, envId, ledger, taken)
          service = yield* Service.start(place, { killAt })
          yield* sendAgain(service)
        }
        yield* loadUntilKilled(service, envId, ledger, taken)
        const last = yield* Service.startHere(place)
        yield* sendAgain(last)
        yield* last.client.ack(held)
        assert.isFalse(taken.has(held.id), "the batch under the lease was handed out again")
        Trainer.note(taken, held.id, held.step, held.groups.map(Groups.numberOf))
        yield* Trainer.even(last.url, last.client, envId, ledger.next++)
        yield* Trainer.drain(last.url, last.client, taken)
        Trainer.checkSteps(taken)
        const groups = Trainer.checkGroups(taken)
        assert.deepStrictEqual(
          [...ledger.answered].filter((id) => !groups.has(id)),
          [],
          "answered and lost"
        )
        // Where the answer was lost, the request was taken whole or not at all.
        for (const numbers of ledger.lost) {
          assert.include([0, numbers.length], numbers.filter((id) => groups.has(id)).length)
        }
      }).pipe(Effect.scoped, Effect.provide(layerParts))
    )
  })
}
