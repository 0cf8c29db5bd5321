import { assert, describe, it } from "@effect/vitest"
import { Auth, Database, PgTrajectoryStore, TrajectoryService } from "@atropos/api"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Effect, Layer } from "effect"
import { HttpClient, HttpClientRequest, HttpServer } from "effect/http"
import { readFileSync } from "node:fs"
import type { Page } from "playwright-core"
import * as Browser from "../../viewer/Browser.ts"
import { mathGroup } from "../../viewer/SavedRollouts.ts"
import * as Registrations from "../../viewer/Registrations.ts"

const layerTest = TrajectoryService.serve({ host: "127.0.0.1", port: 0 }).pipe(
  Layer.provide(PgTrajectoryStore.layer.pipe(Layer.provide(Database.layerPglite()))),
  Layer.provide(Auth.layerOpen),
  Layer.merge(NodeHttpClient.layerUndici)
)

const post = Effect.fnUntraced(function* (path: string, body: unknown) {
  const url = yield* HttpServer.addressFormattedWith(Effect.succeed)
  const client = yield* HttpClient.HttpClient
  const request = HttpClientRequest.post(`${url}/v1/runs${path}`).pipe(HttpClientRequest.bodyJsonUnsafe(body))
  assert.isBelow((yield* client.execute(request)).status, 300)
})

/** What a click hands to the disk. */
const saved = async (page: Page, name: string): Promise<string> => {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name, exact: true }).click()
  ])
  return readFileSync(await download.path(), "utf8")
}

describe.skipIf(!Browser.isPresent)(`notes on rollouts${Browser.absence}`, () => {
  const { open } = Browser.suite()

  it.layer(layerTest, { excludeTestServices: true })("in a browser", (it) => {
    it.effect("are written by keyboard, kept by the service, listed, and saved as JSON lines", () =>
      Effect.gen(function* () {
        const url = yield* HttpServer.addressFormattedWith(Effect.succeed)
        yield* post("", Registrations.run("noted", 4))
        const group = { ...mathGroup, env_id: 0, policy_versions: undefined }
        yield* post("/noted/groups", { key: crypto.randomUUID(), group })
        yield* Effect.promise(async () => {
          const { errors, page } = await open(`${url}/ui#/groups?run=noted`)
          await page.locator(".row-link").click()
          await page.waitForSelector(".rollout")
          await page.keyboard.press("j")
          await page.keyboard.press("b")
          await page.locator('button[aria-label="Bookmark rollout 2"][aria-pressed="true"]').waitFor()
          await page.keyboard.press("a")
          await page.getByLabel("Labels, comma-separated").fill("right, clear , right")
          await page.getByLabel("Note", { exact: true }).fill("<img src=x onerror=window.harm=1> as it should be")
          assert.deepStrictEqual(await Browser.violations(page), [])
          await page.getByRole("button", { name: "Save", exact: true }).click()
          await page.locator(".note-text", { hasText: "as it should be" }).waitFor()
          await Browser.becomes(
            async () =>
              (await page.request.get(`${url}/v1/runs/noted/notes`)).text().then((text) => text.includes("clear")),
            true
          )
          await page.reload()
          await page.locator(".note-text", { hasText: "clear" }).waitFor()
          await page.getByRole("link", { name: "Notes" }).click()
          await page.locator(".notes-page .note-label", { hasText: "clear" }).waitFor()
          assert.deepStrictEqual(await Browser.violations(page), [])
          const [line, ...others] = (await saved(page, "Save as JSONL")).trim().split("\n")
          assert.deepStrictEqual(others, [])
          assert.deepInclude(JSON.parse(line!), {
            run: "noted",
            rollout: 1,
            bookmarked: true,
            labels: ["right", "clear"],
            text: "<img src=x onerror=window.harm=1> as it should be"
          })
          await page.getByRole("link", { name: /^rollout 2 of group/ }).click()
          await page.waitForSelector(".rollout.is-current")
          await page.keyboard.press("Escape")
          await page.locator(".row-noted").waitFor()
          const csv = await saved(page, "CSV of groups of noted")
          assert.match(csv, /^id,step,environment,.*\r\n\d+,,,.*,0 1 0\.5,/)
          assert.isUndefined(await page.evaluate("window.harm"))
          assert.deepStrictEqual(errors, [])
          await page.close()
        })
      })
    )
  })
})
