/** Heat maps of a run: what their cells say, and the groups that they open. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { HttpServer } from "effect/http"
import * as Browser from "../../viewer/Browser.ts"
import * as OpenService from "../../viewer/OpenService.ts"
import * as Saved from "../../viewer/Saved.ts"
import * as Registrations from "../../viewer/Registrations.ts"

const claim = { owner: "t", wait_seconds: 0, lease_seconds: 600 }

/** Scores of the groups of two steps: the best of the third is above the cell of 0.5, one of its rollouts is in it. */
const steps = [
  [
    [0, 0, 1],
    [0, 0.5, 0],
    [0.5, 1, 1]
  ],
  [
    [0, 0, 0],
    [0, 0.5, 0.5],
    [1, 1, 1]
  ]
]

const fill = async (url: string) => {
  await OpenService.post(url, "", Registrations.run("spread", 9))
  await OpenService.post(url, "/spread/batches/claim", claim)
  await OpenService.post(url, "/spread/environments", Registrations.environment)
  for (const [index, groups] of steps.entries()) {
    for (const scores of groups) {
      const group = { tokens: [[1], [2], [3]], masks: [[1], [2], [3]], scores, env_id: 0 }
      await OpenService.post(url, "/spread/groups", { key: crypto.randomUUID(), group })
    }
    await OpenService.post(url, "/spread/batches/claim", claim)
    await OpenService.post(url, "/spread/metrics", {
      source: "trainer",
      step: index + 1,
      values: { "reward/mean": 0.5 }
    })
  }
}

describe.skipIf(!Browser.isPresent)(`distributions of a run${Browser.absence}`, () => {
  const { open } = Browser.suite()

  it.layer(OpenService.layer, { excludeTestServices: true })("in a browser", (it) => {
    it.effect("open exactly the groups that have a rollout in a cell, and none from an empty one", () =>
      Effect.gen(function* () {
        const url = yield* HttpServer.addressFormattedWith(Effect.succeed)
        yield* Effect.promise(async () => {
          await fill(url)
          const { errors, page } = await open(`${url}/ui#/?run=spread`)
          await page.getByRole("heading", { name: "Distributions" }).scrollIntoViewIfNeeded()
          const map = page.getByRole("slider", { name: "Scores, distribution over steps" })
          await map.focus()
          // To the last step's highest score, then down to what lies in the middle.
          await map.press("End")
          for (let i = 0; i < 11; i++) await map.press("ArrowDown")
          await map.press("ArrowLeft")
          const words = page.locator(".heat-words").first()
          await Browser.becomes(() => words.innerText(), "step 1: 2 of 9 rollouts have a score from 0.5 to 0.5417")
          const name = "Distribution of scores"
          const csv = await Saved.by(page, `CSV of ${name}`)
          assert.include(Saved.lines(csv), "1,1,0.5,0.5416666666666666,2")
          // The picture is the map: the strongest cell of three columns of 24 is in it, and no table of numbers.
          const png = await Saved.by(page, `PNG of ${name}`)
          assert.isAbove(await Saved.pixelsLike(page, png, ".heat-plot svg"), 2000)
          await map.focus()
          await map.press("Enter")
          const ids = () => page.locator(".group-rows .row-link").allInnerTexts()
          await Browser.becomes(async () => (await ids()).toSorted(), ["2", "3"])
          const address = await page.evaluate<string>("location.hash")
          assert.include(address, "value=score&value_from=0.5&value_below=0.5416666666666666")
          assert.deepStrictEqual(await Browser.violations(page), [])
          // What is looked for is said, and taken back.
          const filters = page.getByRole("button", { name: "Filters" })
          if (await filters.isVisible()) await filters.click()
          await page.getByRole("button", { name: "with a score from 0.5 to below 0.5417" }).click()
          await Browser.becomes(async () => (await ids()).toSorted(), ["1", "2", "3"])

          await page.goto(`${url}/ui#/?run=spread`)
          await map.focus()
          await map.press("End")
          await map.press("ArrowDown")
          await Browser.becomes(() => words.innerText(), "step 2: 0 of 9 rollouts have a score from 0.9167 to 0.9583")
          await map.press("Enter")
          assert.notInclude(await page.evaluate<string>("location.hash"), "/groups")
          assert.deepStrictEqual(errors, [])
          await page.close()
        })
      })
    )
  })
})
