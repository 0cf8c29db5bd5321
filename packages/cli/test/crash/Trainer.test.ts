/** A trainer killed with a batch in its hands: its successor gets that batch, once; what it acked stays acked. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, it } from "@effect/vitest"
import { Clock, Effect, Layer, Option } from "effect"
import * as Atropos from "./Atropos.ts"
import * as Groups from "./Groups.ts"
import * as Load from "./Load.ts"
import * as Service from "./Service.ts"
import * as Trainer from "./Trainer.ts"

const script = new URL("TrainerProcess.ts", import.meta.url)
const batches = 5
const acked = 2

// On one database: packages/api/test has a trainer's process killed on each.
it.live("a killed trainer's batch goes to its successor, once, when its lease is over", () =>
  Effect.gen(function* () {
    const service = yield* Service.startHere(yield* Service.fastest.make)
    const { client, url } = service
    const envId = yield* Trainer.begin(client)
    const ledger = Load.ledger()
    yield* Load.sendKeyed({ client, envId }, ledger, Load.drawKeyed(ledger, 2 * batches))

    const victim = yield* Atropos.startScript(script, [url, String(acked)], { cwd: yield* Atropos.folder })
    yield* victim.says(/(claimed .*\n+acked .*\n+){2}claimed .*\n/)
    yield* victim.kill
    const taken: Trainer.Taken = new Map()
    const claims = Trainer.claimsIn(victim.said())
    for (const { groups, id, step } of claims) Trainer.note(taken, id, step, groups)
    const held = claims[acked]!

    let redeliveries = 0
    while (taken.size < batches || redeliveries === 0) {
      const claimed = yield* client.claim({ owner: "successor", wait: 500, lease: "1 hour" })
      if (Option.isNone(claimed)) continue
      const batch = claimed.value
      Trainer.note(taken, batch.id, batch.step, batch.groups.map(Groups.numberOf))
      assert.strictEqual(batch.deliveries, batch.id === held.id ? 2 : 1)
      if (batch.id === held.id) {
        redeliveries++
        assert.isAtLeast(yield* Clock.currentTimeMillis, held.leaseUntil)
      } else
        assert.notInclude(
          claims.map(({ id }) => id),
          batch.id,
          "acked, and handed out again"
        )
      yield* client.ack(batch)
    }
    assert.isTrue(Option.isNone(yield* client.claim({ owner: "successor", wait: 0, lease: "30 seconds" })))
    assert.strictEqual(redeliveries, 1)
    assert.strictEqual(Trainer.checkSteps(taken), batches)
    assert.strictEqual(Trainer.checkGroups(taken).size, 2 * batches)
  }).pipe(Effect.scoped, Effect.provide(Layer.merge(NodeServices.layer, NodeHttpClient.layerUndici)))
)
