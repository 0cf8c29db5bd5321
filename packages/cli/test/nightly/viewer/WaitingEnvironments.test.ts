/** Environments that wait at the trainer's bound of staleness, on the service's page. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { HttpServer } from "effect/http"
import * as Browser from "../../viewer/Browser.ts"
import * as OpenService from "../../viewer/OpenService.ts"
import * as Registrations from "../../viewer/Registrations.ts"

describe.skipIf(!Browser.isPresent)(`environments that wait for the trainer${Browser.absence}`, () => {
  const { open } = Browser.suite()

  it.layer(OpenService.layer, { excludeTestServices: true })("in a browser", (it) => {
    it.effect("are seen on the service's page as they begin rollouts and come to the bound", () =>
      Effect.gen(function* () {
        const url = yield* HttpServer.addressFormattedWith(Effect.succeed)
        yield* Effect.promise(async () => {
          await OpenService.post(url, "", { ...Registrations.run("bound", 12), wait_at_staleness: 0 })
          await OpenService.post(url, "/bound/batches/claim", { owner: "t", wait_seconds: 0, lease_seconds: 600 })
          await OpenService.post(url, "/bound/environments", Registrations.environment)
          const { page } = await open(`${url}/ui#/service?run=bound`)
          const begun = page.locator(".tile", { has: page.getByText("In progress", { exact: true }) })
          const says = (figure: string, note: string) =>
            Browser.becomes(() => begun.locator("dd").allInnerTexts(), [figure, note])
          await says("0", "sequences; 12 more may start (staleness at most 0)")
          await OpenService.post(url, "/bound/environments/0/begin", { under_way: 0, more: 3 })
          await says("9", "sequences; 3 more may start (staleness at most 0)")
          await OpenService.post(url, "/bound/environments/0/begin", { under_way: 3, more: 3 })
          await says("12", "sequences; environments wait for the trainer (staleness at most 0)")
          await OpenService.post(url, "", Registrations.run("bound", 12))
          await begun.waitFor({ state: "detached" })
          assert.deepStrictEqual(await Browser.violations(page), [])
          await page.close()
        })
      })
    )
  })
})
