/** A name that had a run before: whoever comes from a curve sees the groups of the run whose curve it is. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { HttpServer } from "effect/http"
import * as Browser from "../../viewer/Browser.ts"
import * as OpenService from "../../viewer/OpenService.ts"
import * as Registrations from "../../viewer/Registrations.ts"

const claim = { owner: "t", wait_seconds: 0, lease_seconds: 600 }

/** A run of four steps, a group in each. */
const fill = async (url: string, score: number) => {
  await OpenService.post(url, "", Registrations.run("again", 3))
  await OpenService.post(url, "/again/batches/claim", claim)
  for (const step of [1, 2, 3, 4]) {
    const group = { tokens: [[1], [2], [3]], masks: [[1], [2], [3]], scores: [0, 0, score] }
    await OpenService.post(url, "/again/groups", { key: crypto.randomUUID(), group })
    await OpenService.post(url, "/again/batches/claim", claim)
    await OpenService.post(url, "/again/metrics", { source: "trainer", step, values: { "reward/mean": score / 3 } })
  }
}

describe.skipIf(!Browser.isPresent)(`a name that had a run before${Browser.absence}`, () => {
  const { open } = Browser.suite()

  it.layer(OpenService.layer, { excludeTestServices: true })("in a browser", (it) => {
    it.effect("has only the newest run's groups behind its curves, and those of all runs when asked", () =>
      Effect.gen(function* () {
        const url = yield* HttpServer.addressFormattedWith(Effect.succeed)
        yield* Effect.promise(async () => {
          await fill(url, 1)
          await OpenService.post(url, "/again/reset")
          await fill(url, 0.5)
          const { errors, page } = await open(`${url}/ui#/?run=again`)
          const ids = async () => (await page.locator(".group-rows .row-link").allInnerTexts()).toSorted()
          const plot = page.getByRole("figure", { name: "Reward", exact: true }).first().getByRole("slider")
          await Browser.moves(page, /step_from=4&step_to=4/, async (options) => {
            await plot.press("End", options)
            await plot.press("Enter", options)
          })
          await Browser.becomes(ids, ["8"])
          const filters = page.getByRole("button", { name: "Filters" })
          if (await filters.isVisible()) await filters.click()
          await page.getByRole("button", { name: "newest run only" }).click()
          await Browser.becomes(ids, ["4", "8"])

          await page.goto(`${url}/ui#/?run=again`)
          await page.getByRole("textbox", { name: "Zoom from step" }).fill("2")
          await page.getByRole("textbox", { name: "Zoom to step" }).fill("3")
          await page.keyboard.press("Enter")
          await page.getByRole("link", { name: "Groups of steps 2 to 3" }).click()
          await Browser.becomes(ids, ["6", "7"])
          assert.deepStrictEqual(await Browser.violations(page), [])
          assert.deepStrictEqual(errors, [])
          await page.close()
        })
      })
    )
  })
})
