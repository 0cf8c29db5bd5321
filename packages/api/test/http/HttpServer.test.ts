import { assert, layer } from "@effect/vitest"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Cause, Effect, Layer, Logger } from "effect"
import { HttpClient, HttpRouter, HttpServer, HttpServerResponse } from "effect/http"
import * as Server from "../../src/http/HttpServer.ts"
import { urlOf } from "../TestService.ts"

const said: Array<string> = []
const heard = Logger.layer([
  Logger.make(({ cause, message }) => void said.push(`${JSON.stringify(message)} ${Cause.pretty(cause)}`))
])

const routes = Layer.mergeAll(
  HttpRouter.add("GET", "/broken", Effect.die(new Error("a count below zero"))),
  HttpRouter.add("GET", "/whole", HttpServerResponse.text("here"))
)

const open = Server.layer(routes, { host: "127.0.0.1", port: 0 }).pipe(
  Layer.provide(heard),
  Layer.merge(NodeHttpClient.layerUndici)
)

layer(open, { excludeTestServices: true })("HttpServer", (it) => {
  it.effect("answers 500 to a request that breaks an invariant, logs what it was, and serves on", () =>
    Effect.gen(function* () {
      yield* HttpServer.HttpServer
      const url = yield* urlOf
      const broken = yield* HttpClient.get(`${url}/broken?run=a`)
      assert.strictEqual(broken.status, 500)
      assert.strictEqual(yield* broken.text, "")
      assert.lengthOf(said, 1)
      assert.include(said[0], '{"method":"GET","url":"/broken?run=a"}')
      assert.include(said[0], "a count below zero")
      const whole = yield* HttpClient.get(`${url}/whole`)
      assert.strictEqual(yield* whole.text, "here")
      assert.strictEqual((yield* HttpClient.get(`${url}/nowhere`)).status, 404)
      assert.lengthOf(said, 1)
    })
  )
})
