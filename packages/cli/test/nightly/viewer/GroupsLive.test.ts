import { assert, describe, it } from "@effect/vitest"
import { Auth, Database, PgTrajectoryStore, TrajectoryService } from "@atropos/api"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Effect, Layer, Redacted } from "effect"
import { HttpClient, HttpClientRequest, HttpServer } from "effect/http"
import type { Page } from "playwright-core"
import * as Browser from "../../viewer/Browser.ts"
import { mathGroup, toolGroup } from "../../viewer/SavedRollouts.ts"
import * as Registrations from "../../viewer/Registrations.ts"

const tokens = { reader: "a-readers-token", admin: "an-admins-token" }

const layerTest = TrajectoryService.serve({ host: "127.0.0.1", port: 0 }).pipe(
  Layer.provide(PgTrajectoryStore.layer.pipe(Layer.provide(Database.layerPglite()))),
  Layer.provide(Auth.layer(Redacted.make(`reader:${tokens.reader},admin:${tokens.admin}`))),
  Layer.merge(NodeHttpClient.layerUndici)
)

const post = Effect.fnUntraced(function* (path: string, body: unknown) {
  const url = yield* HttpServer.addressFormattedWith(Effect.succeed)
  const client = yield* HttpClient.HttpClient
  const request = HttpClientRequest.post(`${url}/v1/runs${path}`).pipe(
    HttpClientRequest.bearerToken(tokens.admin),
    HttpClientRequest.bodyJsonUnsafe(body)
  )
  const response = yield* client.execute(request)
  assert.isBelow(response.status, 300, yield* response.text)
})

const submit = (group: object, to = "live") =>
  post(`/${to}/groups`, { key: crypto.randomUUID(), group: { ...group, env_id: 0, policy_versions: undefined } })

const count = (page: Page) => page.locator(".groups-count").innerText()

describe.skipIf(!Browser.isPresent)(`groups of a live service${Browser.absence}`, () => {
  const { open } = Browser.suite()

  it.layer(layerTest, { excludeTestServices: true })("in a browser", (it) => {
    it.effect("are shown to who has a token, as they come", () =>
      Effect.gen(function* () {
        const url = yield* HttpServer.addressFormattedWith(Effect.succeed)
        yield* post("", Registrations.run("live", 4))
        yield* post("/live/batches/claim", { owner: "t", wait_seconds: 0, lease_seconds: 60 })
        yield* post("/live/environments", Registrations.environment)

        const { errors, page } = yield* Effect.promise(() => open(`${url}/ui#/groups`))
        yield* Effect.promise(async () => {
          await page.getByRole("dialog").waitFor()
          await page.keyboard.type("a-token-nobody-knows")
          await page.keyboard.press("Enter")
          await page.getByText("rejected the token").waitFor()
          await page.getByRole("textbox", { name: "Token" }).fill(tokens.reader)
          await page.keyboard.press("Enter")
          await page.getByText("No groups yet").waitFor()
        })

        yield* submit(mathGroup)
        yield* Effect.promise(() => Browser.becomes(() => count(page), "1"))

        yield* submit(toolGroup)
        yield* Effect.promise(async () => {
          await page.getByRole("button", { name: "1 new" }).click()
          await Browser.becomes(() => count(page), "2")
          await Browser.becomes(
            () => page.locator(".group-rows .cell-preview").allInnerTexts(),
            ["How many live in Lyon?", "How long until $V = 120$ litres flow at \\(2.5\\) per minute?"]
          )
          await page.getByRole("searchbox").fill("lyon")
          await Browser.becomes(() => count(page), "1 match")
          await page.locator(".row-link").click()
          await page.getByText("522250").first().waitFor()
          await page.getByRole("button", { name: "Tokens" }).click()
          await page.getByRole("listbox", { name: "Tokens" }).waitFor()
          // The service waits for those who listen before it stops.
          await page.close()
        })
        assert.deepStrictEqual(errors, [])
      })
    )

    it.effect("are told what becomes of them, however many newer ones there are", () =>
      Effect.gen(function* () {
        const url = yield* HttpServer.addressFormattedWith(Effect.succeed)
        const claim = { owner: "t", wait_seconds: 0, lease_seconds: 60 }
        yield* post("", Registrations.run("crowd", 3))
        yield* post("/crowd/batches/claim", claim)
        yield* post("/crowd/environments", Registrations.environment)
        yield* submit(mathGroup, "crowd")
        const { page } = yield* Effect.promise(() => open(`${url}/ui#/groups?run=crowd`))
        const states = () => page.locator(".group-rows .state").allInnerTexts()
        yield* Effect.promise(async () => {
          await page.getByRole("textbox", { name: "Token" }).fill(tokens.reader)
          await page.keyboard.press("Enter")
          await Browser.becomes(states, ["queued"])
        })
        yield* Effect.forEach(Array.from({ length: 210 }), () => submit(mathGroup, "crowd"), { concurrency: 8 })
        yield* post("/crowd/batches/claim", claim)
        yield* Effect.promise(async () => {
          await page.getByRole("button", { name: "200 or more new" }).waitFor()
          await Browser.becomes(states, ["leased"])
          await page.close()
        })
      })
    )
  })
})
