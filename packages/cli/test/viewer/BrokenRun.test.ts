/** What is wrong with a run is found by its page alone: each trouble leads to the rollouts behind it. */
import { assert, describe, it } from "@effect/vitest"
import { Auth, Database, PgTrajectoryStore, TrajectoryService } from "@atropos/api"
import { Effect, Layer } from "effect"
import { HttpServer } from "effect/http"
import type { Page } from "playwright-core"
import * as Browser from "./Browser.ts"
import * as BrokenRun from "./BrokenRun.ts"

const layerTest = Layer.effectDiscard(
  Effect.flatMap(HttpServer.addressFormattedWith(Effect.succeed), BrokenRun.fill)
).pipe(
  Layer.provideMerge(
    TrajectoryService.serve({ host: "127.0.0.1", port: 0 }).pipe(
      Layer.provide(PgTrajectoryStore.layer.pipe(Layer.provide(Database.layerPglite()))),
      Layer.provide(Auth.layerOpen)
    )
  )
)

const finding = (page: Page, text: string) => page.locator(".finding", { hasText: text })
const rows = (page: Page) => page.locator(".group-rows .group-row")
const steps = (page: Page) => page.locator(".group-rows .cell-step").allInnerTexts()
const says = (page: Page, text: string) =>
  Browser.holds(async () => (await page.locator(".board").innerText()).includes(text), `a rollout that says ${text}`)

describe.skipIf(!Browser.isPresent)(`a run in which four things went wrong${Browser.absence}`, () => {
  const { open } = Browser.suite()

  it.layer(layerTest, { excludeTestServices: true })("in a browser", (it) => {
    /** A test that visits the run's page. */
    const seen = (name: string, look: (page: Page) => Promise<void>) =>
      it.effect(name, () =>
        Effect.gen(function* () {
          const url = yield* HttpServer.addressFormattedWith(Effect.succeed)
          const { errors, page } = yield* Effect.promise(() =>
            open(`${url}/ui#/?run=${BrokenRun.name}`, Browser.withAllColumns(url))
          )
          yield* Effect.promise(() => page.locator(".finding").first().waitFor())
          yield* Effect.promise(() => look(page))
          assert.deepStrictEqual(errors, [])
          yield* Effect.promise(() => page.context().close())
        })
      )

    seen("leads from the collapse to the answers that earned nothing, in three clicks", async (page) => {
      const collapse = finding(page, "Reward collapsed")
      assert.include(await collapse.innerText(), `Reward fell at step ${BrokenRun.collapsesAt}`)
      await collapse.getByRole("link").click()
      await rows(page).first().waitFor()
      assert.include(page.url(), `step_from=${BrokenRun.collapsesAt}&step_to=${BrokenRun.collapsesAt + 9}`)
      await page.getByRole("table", { name: "Groups by mean score" }).waitFor()
      assert.strictEqual(await rows(page).first().locator(".cell-environment").innerText(), "maze_0")
      await page.getByLabel("Environment").selectOption("sums_0")
      await Browser.becomes(() => rows(page).count(), 10)
      await rows(page).first().getByRole("link").click()
      await says(page, "!!!! !!!!")
    })

    seen("shows how scores and lengths are spread over its steps, cell by cell, each with its groups", async (page) => {
      // Lengths are known of groups that were read.
      const unread = () =>
        page.evaluate<number>(
          `fetch("/v1/runs/${BrokenRun.name}/rollouts?limit=1").then((it) => it.json()).then((it) => it.unindexed)`
        )
      await Browser.becomes(unread, 0)
      const figure = page.getByRole("figure", { name: "Distribution of scores" })
      await figure.scrollIntoViewIfNeeded()
      const plot = figure.getByRole("slider")
      await plot.waitFor()
      assert.include(await figure.innerText(), `${3 * BrokenRun.steps} groups`)
      await page.getByRole("figure", { name: "Distribution of lengths" }).getByRole("slider").waitFor()
      await page.getByRole("figure", { name: "Distribution of advantages" }).getByRole("slider").waitFor()
      for (const [colorScheme, rules] of [
        ["light", undefined],
        ["dark", Browser.rulesOfColours]
      ] as const) {
        await page.emulateMedia({ colorScheme })
        assert.deepStrictEqual(await Browser.violations(page, rules), [], colorScheme)
      }
      await page.getByLabel("Environment", { exact: true }).selectOption("maze_0")
      await Browser.holds(async () => (await figure.innerText()).includes(`${BrokenRun.steps} groups`), "of one alone")
      const last = new RegExp(`^step ${BrokenRun.steps}: \\d+ of \\d+ rollouts? ha`)
      await Browser.holds(async () => {
        await plot.press("End")
        return last.test((await plot.getAttribute("aria-valuetext")) ?? "")
      }, `a crosshair at step ${BrokenRun.steps}`)
      // Empty cells open nothing.
      const isEmpty = async () => (await plot.getAttribute("aria-valuetext"))?.includes(": 0 of") === true
      for (let bin = 0; bin < 24 && (await isEmpty()); bin++) await page.keyboard.press("ArrowDown")
      await page.keyboard.press("Enter")
      await rows(page).first().waitFor()
      assert.deepStrictEqual(await steps(page), [String(BrokenRun.steps)])
      assert.include(page.url(), "environment=maze_0")
      await page.goBack()
      await page.setViewportSize({ width: 390, height: 800 })
      // Made when it comes into view.
      await figure.scrollIntoViewIfNeeded()
      await plot.waitFor()
      const { height } = (await plot.boundingBox())!
      const at = (bin: number) => ({ x: 3, y: (height * (bin + 0.5)) / 24 })
      let bin = 0
      await plot.hover({ position: at(bin) })
      while (bin < 23 && (await isEmpty())) await plot.hover({ position: at(++bin) })
      await plot.click({ position: at(bin) })
      await rows(page).first().waitFor()
      assert.match(page.url(), /step_from=1&step_to=1(&|$)/)
    })

    seen("leads from a step without numbers to the tokens that made it", async (page) => {
      const odd = finding(page, "NaN or infinite loss")
      assert.include(await odd.innerText(), `steps ${BrokenRun.notFinite.slice(0, -1).join(", ")} and 31`)
      for (const step of BrokenRun.notFinite) {
        await odd.getByRole("link", { name: `Groups of step ${step}` }).click()
        await rows(page).first().waitFor()
        assert.deepStrictEqual(new Set(await steps(page)), new Set([String(step)]))
        await page.goBack()
        await odd.waitFor()
      }
      await odd.getByRole("link", { name: "Groups of step 23" }).click()
      // The group of which the policy itself found an answer least likely.
      await Browser.becomes(() => rows(page).first().locator(".cell-environment").innerText(), "sums_0")
      await rows(page).first().getByRole("link").click()
      await page.locator(".rollout").first().waitFor()
      await page.getByRole("link", { name: "Tokens of rollout 4" }).click()
      await page.locator(".token").last().click()
      await Browser.holds(
        async () => (await page.locator(".inspector").innerText()).includes("-88"),
        "a token that nobody would sample"
      )
    })

    seen(
      "leads from a reward that is had by length to the longest answers, and shows what they were paid for",
      async (page) => {
        const hacked = finding(page, "Length hacking")
        assert.match(await hacked.innerText(), /“thorough” of essays_0 correlates with completion length/)
        await hacked.getByRole("link").click()
        await page.getByRole("table", { name: "Groups by component thorough" }).waitFor()
        await Browser.becomes(() => rows(page).first().locator(".cell-step").innerText(), String(BrokenRun.steps))
        assert.strictEqual(await rows(page).first().locator(".cell-tokens").innerText(), "0.993")
        await rows(page).first().getByRole("link").click()
        await says(page, "moreover it is so moreover")
        const components = page.locator(".rollout").first().getByRole("list", { name: "Components of the reward" })
        assert.deepStrictEqual(
          (await components.getByRole("listitem").allInnerTexts()).map((text) => text.trim().split(" ")[0]),
          ["quality", "thorough"]
        )
        // The part that is had by length is twice the other one.
        const widths = await page
          .locator(".rollout")
          .first()
          .locator(".components rect:not(.components-zero)")
          .evaluateAll((parts) => parts.map((part) => part.getBoundingClientRect().width))
        assert.isAbove(widths[1], 1.8 * widths[0]!)
      }
    )

    seen("leads from the environment that is stuck to its rollouts, all alike", async (page) => {
      const stuck = finding(page, "of maze_0 have identical scores")
      assert.include(await stuck.innerText(), `since step ${BrokenRun.stuckFrom}`)
      await stuck.getByRole("link").click()
      await Browser.becomes(() => rows(page).first().locator(".cell-environment").innerText(), "maze_0")
      await rows(page).first().getByRole("link").click()
      await says(page, "left left left left")
    })

    seen("opens the groups of a point of a curve, and of a range of steps", async (page) => {
      const reward = page.getByRole("figure", { name: "Reward", exact: true }).first()
      const plot = reward.getByRole("slider")
      await reward.locator("canvas").waitFor()
      await plot.scrollIntoViewIfNeeded()
      const over = reward.locator(".u-over")
      const { height = 0, width = 0 } = (await over.boundingBox()) ?? {}
      await over.click({ position: { x: width / 2, y: height / 2 } })
      await rows(page).first().waitFor()
      assert.match(page.url(), /step_from=3[01]&step_to=3[01]/)
      await page.goBack()

      await reward.locator("canvas").waitFor()
      await page.mouse.move(0, 0)
      await Browser.moves(page, /step_from=58&step_to=58/, async (options) => {
        for (const key of ["End", "ArrowLeft", "ArrowLeft", "Enter"]) await plot.press(key, options)
      })
      await Browser.becomes(() => steps(page), ["58", "58", "58"])
      await page.goBack()

      await page.getByRole("textbox", { name: "Zoom from step" }).fill("20")
      await page.getByRole("textbox", { name: "Zoom to step" }).fill("24")
      await page.keyboard.press("Enter")
      await page.getByRole("link", { name: "Groups of steps 20 to 24" }).click()
      await Browser.becomes(async () => new Set(await steps(page)).size, 5)
    })

    seen("marks the moment on the curve, in words too", async (page) => {
      const reward = page.getByRole("figure", { name: "Reward", exact: true }).first()
      const mark = reward.getByRole("link", { name: `Reward collapsed from step ${BrokenRun.collapsesAt}` })
      assert.include(await mark.getAttribute("title"), "4 standard errors")
      await page.locator(".health-rules summary").click()
      await page.getByText("collapse", { exact: true }).waitFor()
      const parts = page.getByRole("figure", { name: "Reward components · essays_0" })
      await parts.scrollIntoViewIfNeeded()
      assert.deepStrictEqual(await parts.locator(".chart-name").allInnerTexts(), ["quality", "thorough"])
    })

    seen("answers what is often asked by presets and orders, which the address keeps", async (page) => {
      await page.getByRole("link", { name: "Groups", exact: true }).click()
      await rows(page).first().waitFor()
      const count = () => page.locator(".groups-count").innerText()
      await page.getByRole("button", { name: "All wrong" }).click()
      await Browser.becomes(count, "71 match")
      await page.getByRole("button", { name: "Newly solved" }).click()
      await Browser.becomes(() => steps(page), ["10", "9", "8", "7", "6"])
      await page.getByRole("button", { name: "Longest correct" }).click()
      await page.getByRole("table", { name: "Groups by longest best answer" }).waitFor()
      await Browser.becomes(() => rows(page).first().locator(".cell-environment").innerText(), "essays_0")
      await page.getByRole("button", { name: "Highest first" }).click()
      await Browser.holds(() => Promise.resolve(page.url().includes("order=ascending")), "the order in the address")
      await page.reload()
      await Browser.holds(
        async () => (await page.getByRole("button", { name: "Lowest first" }).count()) === 1,
        "the order after a reload"
      )
      await page.getByRole("combobox", { name: /^Order/ }).selectOption("component:thorough")
      await page.getByRole("table", { name: "Groups by component thorough" }).waitFor()
    })

    seen("has no serious hindrance, light or dark", async (page) => {
      for (const [address, sign] of [
        [`/?run=${BrokenRun.name}`, ".finding"],
        [`/groups?run=${BrokenRun.name}&sort=surprise&best_from=0.1`, ".row-link"]
      ] as const) {
        await page.evaluate(`location.hash = ${JSON.stringify(address)}`)
        await page.locator(sign).first().waitFor()
        for (const [colorScheme, rules] of [
          ["light", undefined],
          ["dark", Browser.rulesOfColours]
        ] as const) {
          await page.emulateMedia({ colorScheme })
          assert.deepStrictEqual(await Browser.violations(page, rules), [], `${address}, ${colorScheme}`)
        }
      }
    })
  })
})
