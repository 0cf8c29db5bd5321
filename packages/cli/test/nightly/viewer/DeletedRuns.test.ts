/** Runs deleted from their page: by whom, after what was asked, and what is said of those that are at work. */
import { assert, describe, it } from "@effect/vitest"
import { Auth, Database, PgTrajectoryStore, TrajectoryService } from "@atropos/api"
import { Effect, Layer, Redacted } from "effect"
import { HttpServer } from "effect/http"
import type { Page } from "playwright-core"
import * as Browser from "../../viewer/Browser.ts"
import { comparedRuns } from "../../viewer/ComparedRuns.ts"
import * as Registrations from "../../viewer/Registrations.ts"

const tokens = { reader: "a-readers-token", admin: "an-admins-token" }

const layerTest = TrajectoryService.serve({ host: "127.0.0.1", port: 0 }).pipe(
  Layer.provide(PgTrajectoryStore.layer.pipe(Layer.provide(Database.layerPglite()))),
  Layer.provide(Auth.layer(Redacted.make(`reader:${tokens.reader},admin:${tokens.admin}`)))
)

const post = async (url: string, path: string, body: object) => {
  const response = await fetch(`${url}/v1/runs${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${tokens.admin}` },
    body: JSON.stringify(body)
  })
  assert.isTrue(response.ok, `${path}: ${await response.text()}`)
}

const claim = { owner: "the trainer", wait_seconds: 0, lease_seconds: 600 }
const group = { tokens: [[1], [2], [3]], masks: [[1], [2], [3]], scores: [1, 0, 1] }

const names = (page: Page) => page.locator(".run-chooser option").allInnerTexts()
const offer = (page: Page) => page.getByRole("button", { name: "Delete run…" })

describe.skipIf(!Browser.isPresent)(`deleting runs${Browser.absence}`, () => {
  const { open, save } = Browser.suite()

  /** A tab of whoever has this token, on a run. */
  const tab = async (url: string, run: string, token: string) => {
    const opened = await open(`${url}/ui#/?run=${run}`)
    await opened.page.getByRole("textbox", { name: "Token" }).fill(token)
    await opened.page.keyboard.press("Enter")
    await opened.page.getByRole("heading", { name: `Run ${run}` }).waitFor({ state: "attached" })
    return opened
  }

  it.layer(layerTest, { excludeTestServices: true })("in a browser", (it) => {
    it.effect("is asked for by name, done for administrators alone, and refused in words while a run is at work", () =>
      Effect.gen(function* () {
        const url = yield* HttpServer.addressFormattedWith(Effect.succeed)
        yield* Effect.promise(async () => {
          for (const name of ["idle", "busy"]) await post(url, "", Registrations.run(name, 3))
          await post(url, "/busy/batches/claim", claim)
          await post(url, "/busy/groups", { key: crypto.randomUUID(), group })
          await post(url, "/busy/batches/claim", claim)

          const reading = await tab(url, "idle", tokens.reader)
          await Browser.becomes(async () => (await names(reading.page)).toSorted(), ["busy", "idle"])
          assert.strictEqual(await offer(reading.page).count(), 0)
          await reading.page.close()

          const { errors, page } = await tab(url, "busy", tokens.admin)
          await offer(page).click()
          const dialog = page.getByRole("dialog", { name: "Delete run “busy”?" })
          await dialog.waitFor()
          // Whoever presses Enter at once keeps it.
          assert.strictEqual(await page.evaluate("document.activeElement.textContent"), "Cancel")
          assert.deepStrictEqual(await Browser.violations(page), [])
          await dialog.getByRole("button", { name: "Delete busy" }).click()
          await dialog
            .getByRole("alert")
            .getByText("run busy is in use (the trainer has leased a batch of it)")
            .waitFor()
          assert.deepStrictEqual(await Browser.violations(page), [])
          await dialog.getByRole("button", { name: "Cancel" }).click()
          assert.include(await names(page), "busy")

          await page.locator(".run-chooser select").selectOption("idle")
          await page.getByRole("heading", { name: "Run idle" }).waitFor({ state: "attached" })
          await offer(page).click()
          await page.getByRole("button", { name: "Delete idle" }).click()
          await Browser.becomes(() => names(page), ["busy"])
          await page.getByRole("heading", { name: "Run busy" }).waitFor({ state: "attached" })
          assert.strictEqual(await page.getByRole("dialog").count(), 0)
          // What is not there is called that, and cannot be deleted again.
          await page.evaluate("location.hash = '/?run=idle'")
          await page.getByRole("heading", { name: "Run “idle” not found" }).waitFor()
          assert.strictEqual(await offer(page).count(), 0)
          await page.getByRole("link", { name: "Go to busy" }).click()
          await page.getByRole("heading", { name: "Run busy" }).waitFor({ state: "attached" })
          assert.deepStrictEqual(errors, [])
          await page.close()
        })
      })
    )
  })

  it("is not offered by saved pages", async () => {
    const { page } = await open(`${save("kept", { title: "Kept", runs: comparedRuns() })}#/?run=first`)
    await page.locator("canvas").first().waitFor()
    assert.strictEqual(await offer(page).count(), 0)
  })
})
