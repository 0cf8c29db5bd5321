/** Two services on one Postgres under load, and two trainers: one of each is killed. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, it } from "@effect/vitest"
import { Effect, Latch, Layer } from "effect"
import * as Atropos from "../../crash/Atropos.ts"
import * as Load from "../../crash/Load.ts"
import * as Service from "../../crash/Service.ts"
import * as Trainer from "../../crash/Trainer.ts"

const script = new URL("../../crash/TrainerProcess.ts", import.meta.url)
const groupsInAll = 200
const groupsPerRequest = 2
const ackedByVictim = 8
/** As many as the trainer that is killed takes, and more. */
const groupsBeforeItsDeath = 60
/** By then it is dead: no service got more requests before. */
const fatalRequest = groupsBeforeItsDeath / groupsPerRequest + 5

const { postgres } = Service
const reason = postgres === undefined ? " (skipped: no Postgres on this machine, and no DATABASE_URL)" : ""

it.live.skipIf(postgres === undefined)(
  `two services put no group into two batches and number steps without gaps, one of them and a trainer killed${reason}`,
  () =>
    Effect.gen(function* () {
      const place = yield* postgres!.make
      const dying = yield* Service.start(place, {
        killAt: { of: "answered", when: "before", what: /^POST .*\/groups$/, nth: fatalRequest }
      })
      const staying = yield* Service.startHere(place)
      const envId = yield* Trainer.begin(dying.client)
      const ledger = Load.ledger()
      const taken: Trainer.Taken = new Map()
      const hasNoVictim = yield* Latch.make()
      const hasOneService = yield* Latch.make()

      // Whoever meets the death of its service goes on at the other one, with the same keys.
      const submitter = (first: Service.Service) =>
        Effect.gen(function* () {
          let { client } = first
          while (ledger.next <= groupsInAll) {
            if (ledger.next > groupsBeforeItsDeath) yield* hasNoVictim.await
            // The service that stays leaves requests for the one that dies.
            if (client === staying.client && ledger.next > groupsInAll / 2) yield* hasOneService.await
            const groups = Load.drawKeyed(ledger, groupsPerRequest)
            yield* Load.sendKeyed({ client, envId }, ledger, groups).pipe(
              Effect.catchTag("TrajectoryError", () => {
                client = staying.client
                return Load.sendKeyed({ client, envId }, ledger, groups)
              })
            )
          }
        })

      const cwd = yield* Atropos.folder
      const victim = yield* Atropos.startScript(script, [dying.url, String(ackedByVictim)], { cwd })
      const killings = Effect.gen(function* () {
        yield* victim.says(new RegExp(`(claimed .*\\n+acked .*\\n+){${ackedByVictim}}claimed .*\\n`))
        yield* victim.kill
        yield* hasNoVictim.open
        yield* dying.process.killed
        yield* hasOneService.open
      })
      const taking = Effect.repeat(Trainer.takeOne(staying.client, taken, 500), {
        until: () => ledger.answered.size >= groupsInAll
      })
      yield* Effect.all(
        [
          killings,
          submitter(dying),
          submitter(staying),
          submitter(dying),
          submitter(staying),
          Effect.andThen(hasNoVictim.await, taking)
        ],
        { concurrency: "unbounded", discard: true }
      )
      yield* Trainer.drain(staying.url, staying.client, taken)

      for (const { groups, id, step } of Trainer.claimsIn(victim.said())) Trainer.note(taken, id, step, groups)
      assert.strictEqual(Trainer.checkSteps(taken), groupsInAll / 2)
      assert.strictEqual(Trainer.checkGroups(taken).size, groupsInAll)
    }).pipe(Effect.scoped, Effect.provide(Layer.merge(NodeServices.layer, NodeHttpClient.layerUndici)))
)
