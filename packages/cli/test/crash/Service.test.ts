/**
 * The service killed in the midst of load, on every kind of database: what it answered for is there, once, and is
 * handed out once.
 */
import { NodeHttpClient, NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { type Duration, Effect, Layer, Option, Random } from "effect"
import * as Atropos from "./Atropos.ts"
import * as Groups from "./Groups.ts"
import * as Load from "./Load.ts"
import * as Service from "./Service.ts"
import * as Trainer from "./Trainer.ts"

const layerParts = Layer.merge(NodeServices.layer, NodeHttpClient.layerUndici)

/** Load from all sides until the service is dead: it is killed soon after answer number `last`. */
const loadUntilKilled = Effect.fnUntraced(function* (
  { client, process, url }: Service.Service,
  envId: number,
  ledger: Load.Ledger,
  taken: Trainer.Taken,
  last: number
) {
  // Not by the answer itself: then the others would always be at the same point.
  const moment = yield* Random.nextIntBetween(0, 20)
  let answers = 0
  const onAnswer = () => {
    if (++answers === last) setTimeout(process.killNow, moment)
  }
  yield* Effect.all(
    [
      Load.submitAll({ url, client, envId }, ledger, onAnswer),
      Effect.ignore(Effect.forever(Trainer.takeOne(client, taken, 1000)))
    ],
    { concurrency: "unbounded", discard: true }
  )
  const { signal } = yield* process.ended
  assert.strictEqual(signal, "SIGKILL")
})

for (const [seed, database] of Service.databases.entries()) {
  describe(`atropos api on ${database.name}`, () => {
    it.live("killed when it has answered a claim, keeps its lease", () =>
      Effect.gen(function* () {
        const place = yield* database.make
        const port = yield* Atropos.freePort
        const taken: Trainer.Taken = new Map()
        const service = yield* Service.start(place, port)
        const envId = yield* Trainer.begin(service.client)
        yield* service.client.submit(envId, [0, 1, 2, 3].map(Groups.keyed))
        const claim = (client: Service.Service["client"], wait: Duration.Input) =>
          // No start of a service takes as long as this lease, however busy the machine is.
          Effect.map(client.claim({ owner: "trainer", wait, lease: "1 hour" }), (claimed) => {
            if (Option.isNone(claimed)) return false
            const { groups, id, step } = claimed.value
            Trainer.note(taken, id, step, groups.map(Groups.numberOf))
            return true
          })
        assert.isTrue(yield* claim(service.client, "1 minute"))
        yield* service.process.kill
        const { client } = yield* Service.start(place, port)
        assert.isTrue(yield* claim(client, "1 minute"))
        assert.strictEqual(taken.size, 2, "the batch under the lease was handed out again")
        assert.isFalse(yield* claim(client, 0))
        assert.strictEqual(Trainer.checkSteps(taken), 2)
        assert.strictEqual(Trainer.checkGroups(taken).size, 4)
      }).pipe(Effect.scoped, Effect.provide(layerParts))
    )

    it.live("killed under load, has what it answered for, once, and hands it out once", () =>
      Effect.gen(function* () {
        const place = yield* database.make
        const port = yield* Atropos.freePort
        const ledger = Load.ledger()
        const taken: Trainer.Taken = new Map()
        let service = yield* Service.start(place, port)
        const envId = yield* Trainer.begin(service.client)
        for (let life = 0; life < 2; life++) {
          yield* loadUntilKilled(service, envId, ledger, taken, yield* Random.nextIntBetween(40, 120))
          service = yield* Service.start(place, port)
          for (const groups of ledger.open.splice(0)) yield* Load.sendKeyed({ ...service, envId }, ledger, groups)
          const again = yield* service.client.submit(envId, ledger.lastKeyed)
          assert.deepStrictEqual(
            again.map(({ status }) => status),
            ["duplicate", "duplicate"]
          )
        }
        yield* Trainer.even(service.url, service.client, envId, ledger.next++)
        yield* Trainer.drain(service.url, service.client, taken)
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
      }).pipe(Random.withSeed(seed), Effect.scoped, Effect.provide(layerParts))
    )
  })
}
