import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { HttpServer } from "effect/http"
import * as Listening from "../../src/http/Listening.ts"

const listen = (host: string, port: number) =>
  Layer.build(Listening.layer(Listening.makeServer(), { host, port, gracefulShutdownTimeout: 0 }))

describe("Listening", () => {
  it.live("says why an address cannot be listened on, and what would be right", () =>
    Effect.gen(function* () {
      const { address } = yield* Effect.provide(HttpServer.HttpServer, yield* listen("127.0.0.1", 0))
      const port = "port" in address ? address.port : 0
      const taken = yield* Effect.flip(listen("127.0.0.1", port))
      assert.strictEqual(taken._tag, "ListenError")
      assert.include(taken.message, `cannot listen on 127.0.0.1:${port}: the port is in use`)
      assert.deepStrictEqual(yield* Effect.flip(Listening.check({ host: "127.0.0.1", port })), taken)
      yield* Listening.check({ host: "127.0.0.1", port: 0 })
      const elsewhere = yield* Effect.flip(listen("192.0.2.1", 0))
      assert.include(elsewhere.message, "cannot listen on 192.0.2.1:0: this machine does not have that address")
    }).pipe(Effect.scoped)
  )
})
