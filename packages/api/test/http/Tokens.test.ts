import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { call, type Call, layer as serviceLayer } from "../TestService.ts"
import * as TestStore from "../TestStore.ts"

const tokens = {
  environment: "token-of-environments",
  trainer: "token-of-trainers",
  reader: "token-of-readers",
  admin: "token-of-admins"
}
const roles = ["environment", "trainer", "reader", "admin"] as const
const setting = Redacted.make(roles.map((role) => `${role}:${tokens[role]}`).join())

type Role = (typeof roles)[number]

/** Which roles may do what; an `admin` may do all. */
const endpoints: ReadonlyArray<readonly [path: string, options: Call, ReadonlyArray<Role>]> = [
  // The original's endpoints.
  ["/", {}, ["environment", "trainer", "reader"]],
  ["/status", {}, ["environment", "trainer", "reader"]],
  ["/info", {}, ["environment", "trainer", "reader"]],
  ["/wandb_info", {}, ["environment", "trainer", "reader"]],
  ["/latest_example", {}, ["environment", "trainer", "reader"]],
  ["/register", { json: {} }, ["trainer"]],
  ["/batch", {}, ["trainer"]],
  ["/batch/?x=1", {}, ["trainer"]],
  ["/%62atch", {}, ["trainer"]],
  ["/reset_data", {}, ["trainer"]],
  ["/register-env", { json: {} }, ["environment"]],
  ["/disconnect-env", { json: {} }, ["environment"]],
  ["/scored_data", { json: {} }, ["environment"]],
  ["/scored_data_list", { json: [] }, ["environment"]],
  ["/metrics", {}, ["environment", "trainer", "reader"]],
  // The versioned ones.
  ["/v1/runs", {}, ["environment", "trainer", "reader"]],
  ["/v1/runs", { json: {} }, ["trainer"]],
  ["/v1/runs/r", {}, ["environment", "trainer", "reader"]],
  ["/v1/runs/r/reset", { method: "POST" }, ["trainer"]],
  ["/v1/runs/r/summary", {}, ["environment", "trainer", "reader"]],
  ["/v1/runs/r/events", {}, ["environment", "trainer", "reader"]],
  ["/v1/runs/r/environments", {}, ["environment", "trainer", "reader"]],
  ["/v1/runs/r/environments", { json: {} }, ["environment"]],
  ["/v1/runs/r/environments/0/disconnect", { method: "POST" }, ["environment"]],
  ["/v1/runs/r/environments/0/status", {}, ["environment", "trainer", "reader"]],
  ["/v1/runs/r/environments/0/events", {}, ["environment", "trainer", "reader"]],
  ["/v1/runs/r/state/e", {}, ["environment"]],
  ["/v1/runs/r/state/e", { method: "PUT", json: {} }, ["environment"]],
  ["/v1/runs/r/groups", { json: {} }, ["environment"]],
  ["/v1/runs/r/rollouts", {}, ["environment", "trainer", "reader"]],
  ["/v1/runs/r/rollouts/1", {}, ["environment", "trainer", "reader"]],
  ["/v1/runs/r/batches/claim", { json: {} }, ["trainer"]],
  ["/v1/runs/r/batches/1/ack", { json: {} }, ["trainer"]],
  ["/v1/runs/r/batches/1/nack", { json: {} }, ["trainer"]],
  ["/v1/runs/r/batches/1/extend", { json: {} }, ["trainer"]],
  ["/v1/runs/r/metrics", { json: {} }, ["environment", "trainer"]],
  ["/v1/runs/r/metrics", {}, ["environment", "trainer", "reader"]],
  ["/v1/runs/r/metrics/events", {}, ["environment", "trainer", "reader"]],
  ["/v1/runs/r/batches", {}, ["environment", "trainer", "reader"]],
  ["/v1/runs/r/pieces", {}, ["environment", "trainer", "reader"]],
  ["/v1/runs/r/pieces", { json: {} }, ["environment"]],
  ["/v1/runs/r/environments/0/report", { json: {} }, ["environment"]]
]

const services = serviceLayer(setting).pipe(Layer.provideMerge(TestStore.layer))

layer(services, { excludeTestServices: true })("tokens", (it) => {
  it.effect("let each role do what it is for, and nothing else", () =>
    Effect.forEach(
      endpoints,
      Effect.fnUntraced(function* ([path, options, allowed]) {
        for (const role of roles) {
          const { status, text } = yield* call(path, { ...options, token: tokens[role] })
          const what = `${options.method ?? ""} ${path} as ${role}: ${status} ${text}`
          if (role === "admin" || allowed.includes(role)) {
            assert.notInclude([401, 403], status, what)
          } else {
            assert.strictEqual(status, 403, what)
            assert.include(text, `the role ${role} is not allowed to do this`)
          }
        }
      }),
      { discard: true }
    )
  )

  it.effect("are asked for everywhere but where health and documentation are", () =>
    Effect.gen(function* () {
      for (const [path, options] of endpoints) {
        const without = yield* call(path, options)
        assert.strictEqual(without.status, 401, path)
        assert.include(without.text, "Authorization: Bearer")
        const wrong = yield* call(path, { ...options, token: "token-of-trainer" })
        assert.strictEqual(wrong.status, 401, path)
        assert.include(wrong.text, "unknown token")
        assert.strictEqual(wrong.json()["error"], "Unauthorized")
      }
      for (const path of ["/v1/health/live", "/v1/health/ready", "/v1/openapi.json", "/v1/docs"]) {
        assert.strictEqual((yield* call(path)).status, 200, path)
      }
    })
  )
})
