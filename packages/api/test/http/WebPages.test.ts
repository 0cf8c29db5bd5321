/**
 * What a page of another site can make a browser ask of a service without tokens: nothing that changes or shows
 * anything.
 */
import { assert, describe, layer } from "@effect/vitest"
import type * as BearerTokens from "@atropos/core/http/BearerTokens"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { ConfigProvider, Effect, Layer, Redacted } from "effect"
import { HttpRouter } from "effect/http"
import { createServer } from "node:http"
import * as Auth from "../../src/http/Auth.ts"
import * as TrajectoryService from "../../src/TrajectoryService.ts"
import * as TestStore from "../TestStore.ts"
import { get, group, json, post, registration, send } from "../v0/V0Server.ts"

const serve = (auth: Layer.Layer<Auth.Auth, BearerTokens.AuthConfigError>, allowedHosts?: string) =>
  TrajectoryService.serve({ host: "127.0.0.1", port: 0 }).pipe(
    Layer.provide([TestStore.layer, auth]),
    Layer.provide(
      ConfigProvider.layer(
        ConfigProvider.fromUnknown(allowedHosts === undefined ? {} : { ATROPOS_ALLOWED_HOSTS: allowedHosts })
      )
    )
  )

const run = {
  batch_size: 2,
  max_token_length: 512,
  starting_step: 0,
  num_steps: 10,
  checkpoint_dir: "",
  save_checkpoint_interval: 1,
  wandb_group: "",
  wandb_project: ""
}

const agent = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
const foreign = { "user-agent": agent, origin: "https://evil.example", "sec-fetch-site": "cross-site" }
const image = { "user-agent": agent, "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" }

/** The headers that clients of the original set of themselves. */
const programs = {
  requests: { "user-agent": "python-requests/2.32.5", "accept-encoding": "gzip, deflate", accept: "*/*" },
  aiohttp: { "user-agent": "Python/3.11 aiohttp/3.14.5", "accept-encoding": "gzip, deflate", accept: "*/*" },
  httpx: { "user-agent": "python-httpx/0.28.1", "accept-encoding": "gzip, deflate", accept: "*/*" }
}

const state = Effect.map(Effect.all([json(get("/info")), json(get("/status"))]), ([info, status]) => ({ info, status }))

describe("web pages of other sites", () => {
  layer(serve(Auth.layerOpen), { excludeTestServices: true })("without tokens", (it) => {
    it.effect("neither take batches, nor end runs, nor send groups", () =>
      Effect.gen(function* () {
        yield* post("/register", registration)
        yield* get("/batch")
        yield* post("/scored_data", group)
        const before = yield* state
        const body = JSON.stringify(group)
        const refused = yield* Effect.all([
          get("/batch", image),
          get("/%62atch", image),
          get("/reset_data", image),
          get("/batch", foreign),
          get("/reset_data", { "user-agent": agent }),
          send("POST", "/reset_data", { headers: foreign }),
          send("POST", "/scored_data", { body, headers: foreign }),
          send("POST", "/scored_data", { body, headers: { ...foreign, "content-type": "text/plain" } }),
          send("POST", "/v1/runs/default/reset", { headers: foreign }),
          send("POST", "/v1/runs/default/groups", { body, headers: foreign })
        ])
        assert.deepStrictEqual(
          refused.map(({ status }) => status),
          refused.map(() => 403)
        )
        for (const { json } of refused) assert.include(json(), { error: "Forbidden" })
        assert.deepStrictEqual(yield* state, before)
        for (const headers of Object.values(programs)) {
          const sent = yield* send("POST", "/scored_data", { body, headers })
          assert.deepStrictEqual(sent.json(), { status: "received" })
        }
        assert.lengthOf(((yield* json(get("/batch", programs.requests))) as { batch: [] }).batch, 1)
      })
    )

    it.effect("read nothing under a name that was pointed here", () =>
      Effect.gen(function* () {
        for (const path of [
          "/",
          "/status",
          "/latest_example",
          "/metrics",
          "/ui",
          "/v1/runs",
          "/v1/nothing",
          "/nothing"
        ]) {
          const rebound = yield* get(path, { host: "evil.example:8000", "user-agent": agent })
          assert.strictEqual(rebound.status, 403, path)
          assert.include(rebound.text, "ATROPOS_ALLOWED_HOSTS=evil.example")
          assert.include(rebound.text, "ATROPOS_TOKENS")
        }
        const preflight = yield* send("OPTIONS", "/v1/runs", {
          headers: { host: "evil.example", origin: "http://evil.example", "access-control-request-method": "POST" }
        })
        assert.strictEqual(preflight.status, 403)
        for (const host of ["localhost:8000", "127.0.0.1", "[::1]:8000"]) {
          assert.strictEqual((yield* get("/status", { host })).status, 200, host)
        }
      })
    )

    it.effect(
      "that are the service's own read a run whatever it is called, on an address where browsers say less",
      () =>
        Effect.gen(function* () {
          for (const name of ["batch", "reset_data"]) {
            assert.strictEqual(
              (yield* send("POST", "/v1/runs", { body: JSON.stringify({ ...run, name }) })).status,
              200
            )
            assert.strictEqual((yield* get(`/v1/runs/${name}`, { "user-agent": agent })).status, 200, name)
          }
        })
    )

    it.effect("cannot leave out what a body of /v1 is", () =>
      Effect.gen(function* () {
        const body = JSON.stringify({ name: "poisoned", ...registration })
        for (const type of ["text/plain", "application/x-www-form-urlencoded", ""]) {
          for (const path of ["/v1/runs", "/v1/runs/default/groups", "/v1/runs/default/state/groups"]) {
            const refused = yield* send(path.endsWith("state/groups") ? "PUT" : "POST", path, {
              body,
              headers: { "content-type": type }
            })
            assert.strictEqual(refused.status, 400, `${path} ${type}`)
            assert.include(refused.json(), { error: "BadRequest", field: "Content-Type" })
          }
        }
        assert.strictEqual((yield* send("POST", "/v1/runs/default/reset")).status, 204)
      })
    )
  })

  const embedded = HttpRouter.serve(
    Layer.mergeAll(TrajectoryService.layerAt("/own"), TrajectoryService.guard({ host: "127.0.0.1" })),
    { disableLogger: true, disableListenLog: true }
  ).pipe(
    Layer.provideMerge(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" })),
    Layer.provide([TestStore.layer, Auth.layerOpen])
  )
  layer(embedded, { excludeTestServices: true })("where the service is mounted in another", (it) => {
    it.effect("change and read nothing either", () =>
      Effect.gen(function* () {
        assert.strictEqual((yield* get("/own/status")).status, 200)
        assert.strictEqual((yield* get("/own/status", { host: "evil.example" })).status, 403)
        assert.strictEqual((yield* get("/own/batch", image)).status, 403)
        assert.strictEqual((yield* send("POST", "/own/reset_data", { headers: foreign })).status, 403)
      })
    )
  })

  layer(serve(Auth.layerOpen, "atropos"), { excludeTestServices: true })("where the service has another name", (it) => {
    it.effect("read nothing, and those that were told the name do", () =>
      Effect.gen(function* () {
        assert.strictEqual((yield* get("/status", { host: "atropos:8000" })).status, 200)
        assert.strictEqual((yield* get("/status", { host: "evil.example" })).status, 403)
      })
    )
  })

  layer(serve(Auth.layer(Redacted.make("trainer:trainer-token"))), { excludeTestServices: true })(
    "with tokens",
    (it) => {
      it.effect("have none, and whatever the service is called is right", () =>
        Effect.gen(function* () {
          const host = "atropos.example"
          assert.strictEqual((yield* get("/status", { host })).status, 401)
          assert.strictEqual((yield* get("/reset_data", image)).status, 401)
          const authorization = "Bearer trainer-token"
          assert.strictEqual((yield* get("/status", { host, authorization })).status, 200)
          assert.strictEqual((yield* get("/reset_data", { ...foreign, authorization })).status, 200)
        })
      )
    }
  )
})
