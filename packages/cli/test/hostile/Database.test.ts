/** `atropos api` with a database it cannot have, or that goes away: told clearly, at once, and nothing is lost. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Result } from "effect"
import * as Waits from "../../../core/test/base/Waits.ts"
import * as TestPostgres from "../../../api/test/TestPostgres.ts"
import * as Load from "../crash/Load.ts"
import * as Ports from "../../../core/test/base/Ports.ts"
import * as Service from "../crash/Service.ts"
import * as Trainer from "../crash/Trainer.ts"
import * as InProcess from "../InProcess.ts"
import * as Wires from "./Wires.ts"

const api = Effect.fnUntraced(function* (env: Record<string, string>) {
  yield* InProcess.folder
  const { code, stderr } = yield* InProcess.run(["api", "--port", "0"], env)
  assert.strictEqual(code, 1)
  assert.strictEqual(stderr.trim().split("\n").length, 1, stderr)
  return stderr
}, Effect.scoped)

const parts = Layer.merge(NodeServices.layer, NodeHttpClient.layerUndici)

layer(parts, { excludeTestServices: true })("a database that cannot be had", (it) => {
  it.effect("nobody listens at its address", () =>
    Effect.gen(function* () {
      const port = yield* Ports.held
      const said = yield* api({ DATABASE_URL: `postgres://me:hush-hush@127.0.0.1:${port}/rollouts` })
      assert.include(said, `cannot use the database 127.0.0.1:${port}/rollouts: connect ECONNREFUSED`)
      assert.include(said, "is the server running?")
      assert.notInclude(said, "hush-hush")
    })
  )

  it.effect("its server refuses the password", () =>
    Effect.gen(function* () {
      const port = yield* Wires.strictPostgres
      const said = yield* api({ DATABASE_URL: `postgres://me:hush-hush@127.0.0.1:${port}/rollouts` })
      assert.include(
        said,
        'password authentication failed for user "me": check the user and the password in DATABASE_URL'
      )
      assert.notInclude(said, "hush-hush")
    })
  )

  it.effect("the address is no address, or of another kind of database", () =>
    Effect.gen(function* () {
      assert.include(yield* api({ DATABASE_URL: "localhost" }), "postgres://user:password@host:port/database")
      assert.include(yield* api({ DATABASE_URL: "mysql://localhost/x" }), "should begin with postgres://, not mysql://")
    })
  )

  it.effect("its folder belongs to a running service, which goes on", () =>
    Effect.gen(function* () {
      const place = yield* Service.pglite.make
      const first = yield* Service.start(place)
      const said = yield* api({ ...place.env })
      assert.match(said, /the folder \S+ is in use by a running process \(id \d+\)/)
      assert.include(said, "ATROPOS_DATA_DIR")
      assert.strictEqual((yield* first.client.runInfo).batchSize, -1)
      yield* first.process.kill
      // A lock left by the dead is no lock.
      yield* Service.start(place)
    }).pipe(Effect.scoped)
  )

  it.effect("its folder cannot be made", () =>
    Effect.gen(function* () {
      const said = yield* api({ ATROPOS_DATA_DIR: "/dev/null/data" })
      assert.include(said, "/dev/null/data")
      assert.notInclude(said, "please report")
    })
  )
})

const { postgres } = Service
const skipped = postgres === undefined ? " (skipped: no Postgres on this machine, and no DATABASE_URL)" : ""

layer(parts, { excludeTestServices: true })("a database on a server", (it) => {
  it.effect.skipIf(postgres === undefined)(`that does not have it${skipped}`, () =>
    Effect.gen(function* () {
      const url = new URL(TestPostgres.serverUrl!)
      url.pathname = "/atropos_not_there"
      assert.include(yield* api({ DATABASE_URL: url.href }), "create it with `createdb atropos_not_there`")
    })
  )

  it.effect.skipIf(postgres === undefined)(
    `whose connections break: what is sent meanwhile is refused in time, and what was answered is there${skipped}`,
    () =>
      Effect.gen(function* () {
        const place = yield* postgres!.make
        const url = new URL(place.env["DATABASE_URL"]!)
        const wire = yield* Wires.between(url.hostname, Number(url.port || 5432))
        url.host = `127.0.0.1:${wire.port}`
        const service = yield* Service.start({ env: { DATABASE_URL: url.href } })
        const envId = yield* Trainer.begin(service.client)
        const ledger = Load.ledger()
        const send = Effect.suspend(() =>
          Load.sendKeyed({ client: service.client, envId }, ledger, Load.drawKeyed(ledger, 2))
        )
        yield* send
        yield* wire.cut
        const error = yield* Effect.flip(send)
        assert.include(["unreachable", "overloaded"], error.reason)
        yield* wire.mend
        const [open] = ledger.open.splice(0)
        const again = Effect.result(Load.sendKeyed({ client: service.client, envId }, ledger, open!))
        yield* Waits.until("the database to be back", again, Result.isSuccess)
        const taken: Trainer.Taken = new Map()
        yield* Trainer.drain(service.url, service.client, taken)
        assert.strictEqual(Trainer.checkSteps(taken), 2)
        assert.deepStrictEqual(
          [...Trainer.checkGroups(taken)].sort((a, b) => a - b),
          [1, 2, 3, 4]
        )
      }).pipe(Effect.scoped)
  )
})
