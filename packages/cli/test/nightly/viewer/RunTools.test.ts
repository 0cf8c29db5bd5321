/** What the pages of a run are used for beside looking: opening, filtering, saving; on small and on large screens. */
import { assert, describe, it } from "@effect/vitest"
import { Auth, Database, PgTrajectoryStore, TrajectoryService } from "@atropos/api"
import { TrajectoryClient, TrajectoryClientHttp } from "@atropos/core"
import { Effect, Layer, Option } from "effect"
import { HttpServer } from "effect/http"
import type { Page } from "playwright-core"
import * as Browser from "../../viewer/Browser.ts"
import * as BrokenRun from "../../viewer/BrokenRun.ts"
import * as Saved from "../../viewer/Saved.ts"

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

const overhang = (page: Page) => page.evaluate<number>("document.documentElement.scrollWidth - innerWidth")
const found = (page: Page) => page.locator(".groups-count").innerText()

describe.skipIf(!Browser.isPresent)(`the tools of a run's pages${Browser.absence}`, () => {
  const { open } = Browser.suite()

  it.layer(layerTest, { excludeTestServices: true })("in a browser", (it) => {
    /** A test that visits a page of the run. */
    const seen = (
      name: string,
      path: string,
      look: (page: Page, url: string) => Promise<void>,
      options: Parameters<typeof open>[1] = {}
    ) =>
      it.effect(name, () =>
        Effect.gen(function* () {
          const url = yield* HttpServer.addressFormattedWith(Effect.succeed)
          const at = `${url}/ui#${path}?run=${BrokenRun.name}`
          const { errors, page } = yield* Effect.promise(() => open(at, options))
          yield* Effect.promise(() => look(page, url))
          assert.deepStrictEqual(errors, [])
          yield* Effect.promise(() => page.context().close())
        })
      )

    seen("say where a step's time goes, as lanes, and save it", "/", async (page) => {
      await page.getByText("Where does the step time go?").click()
      const timeline = page.locator(".step-timeline")
      await timeline.locator("svg").waitFor()
      assert.include(
        await timeline.innerText(),
        "Mean step time of the last 20 steps: 2 s (60% waiting for rollouts, 30% computing, 10% other)."
      )
      assert.include(await timeline.innerText(), "The trainer waits for rollouts: more inference servers")
      // Two parts of each of the last twenty steps, and a lane of their own for the trainer and its weights.
      assert.strictEqual(await timeline.locator("svg rect").count(), 40)
      const lanes = await timeline.locator("svg text").allTextContents()
      assert.deepStrictEqual(lanes.slice(0, 2), ["trainer", "new weights"])
      assert.deepStrictEqual(await Browser.violations(page), [])
      const csv = await Saved.by(page, `CSV of steps of ${BrokenRun.name}`)
      assert.strictEqual(csv.name, `steps-of-${BrokenRun.name}.csv`)
      const [head, ...rows] = Saved.lines(csv)
      assert.isTrue(head!.startsWith("step,seconds,waiting for rollouts,"))
      assert.lengthOf(rows, 20)
      assert.strictEqual(rows.at(-1), `${BrokenRun.steps},2,1.2,0,0.6,0,0,0`)
      // The picture is the lanes: most of its trainer's lane waits, half as much computes.
      const png = await Saved.by(page, `PNG of steps of ${BrokenRun.name}`)
      const [waiting, computing] = [0, 2].map((part) => Saved.pixelsLike(page, png, `.timeline-scroll .part-${part}`))
      assert.isAbove(await waiting!, 5000)
      assert.isAbove(await computing!, 2500)
    })

    seen("save a chart's values and its picture", "/", async (page) => {
      const csv = await Saved.by(page, "CSV of Loss")
      assert.strictEqual(csv.name, "Loss.csv")
      const [head, ...rows] = Saved.lines(csv)
      assert.match(head!, /^step,/)
      assert.deepStrictEqual(
        rows.map((row) => Number(row.split(",")[0])),
        Array.from({ length: BrokenRun.steps }, (_, at) => at + 1)
      )
      // What was no number is none in the file, and is not taken for a zero.
      assert.include(rows, `${BrokenRun.notFinite[0]},NaN`)
      const json = Saved.rows(await Saved.by(page, "JSONL of Loss"))
      assert.lengthOf(json, BrokenRun.steps)
      assert.strictEqual(json[0]!["step"], 1)
      const png = await Saved.by(page, "PNG of Loss")
      assert.strictEqual(png.name, "Loss.png")
      assert.strictEqual(png.bytes.toString("latin1", 1, 4), "PNG")
      // Width and height, in pixels, stand in the first chunk.
      assert.isAbove(png.bytes.readUInt32BE(16), 300)
      assert.isAbove(png.bytes.readUInt32BE(20), 150)
    })

    seen("save the same picture of a chart whether it has been seen or not", "/", async (page) => {
      const unseen = page.locator("figure:has(> .chart-plot):not(:has(canvas))").last()
      const button = `PNG of ${await unseen.locator("h3").innerText()}`
      const before = await Saved.by(page, button, (found) => found.dispatchEvent("click"))
      const after = await Saved.by(page, button)
      assert.isTrue(before.bytes.equals(after.bytes))
    })

    seen("lead from a point of an evaluation's curve to its samples", "/", async (page) => {
      const curve = page.getByRole("figure", { name: "Percent correct" }).first().getByRole("slider")
      await curve.focus()
      await curve.locator("canvas").waitFor()
      await page.keyboard.press("End")
      await Browser.becomes(() => curve.getAttribute("aria-valuenow"), String(BrokenRun.evaluatedAt))
      await page.keyboard.press("Enter")
      await page.waitForURL(/#\/evaluations\/\d+$/)
      await page.locator(".item-row").first().waitFor()
      assert.include(await page.locator("main").innerText(), `step ${BrokenRun.evaluatedAt}`)
      assert.strictEqual(await page.locator(".item-row").count(), 2)
    })

    seen("show evaluations as they come", "/evaluations", async (page, url) => {
      const rows = page.locator(".data-table tbody tr")
      await Browser.becomes(() => rows.count(), 2)
      const record = Effect.gen(function* () {
        const { recordEvaluation } = Option.getOrThrow(yield* (yield* TrajectoryClient.all).telemetry)
        yield* recordEvaluation(BrokenRun.evaluation(60))
      })
      await Effect.runPromise(Effect.provide(record, TrajectoryClientHttp.layer({ url, run: BrokenRun.name })))
      await Browser.becomes(() => rows.count(), 3)
    })

    seen("filter groups by the bounds of a component", "/groups", async (page) => {
      await page.locator(".group-row").first().waitFor()
      assert.strictEqual(await found(page), String(3 * BrokenRun.steps))
      await page.getByRole("combobox", { name: "Order" }).selectOption({ label: "component thorough" })
      await page.getByLabel("Component thorough from").fill("0.9")
      await Browser.holds(async () => /^\d match$/.test(await found(page)), "fewer than ten groups")
      assert.include(page.url(), "component=thorough")
      const few = Number((await found(page)).split(" ")[0])
      await page.getByLabel("Component thorough to").fill("0.95")
      await Browser.holds(async () => Number((await found(page)).split(" ")[0]) < few, "fewer still")
      assert.deepStrictEqual(await Browser.violations(page), [])
    })

    seen(
      "have their filters at hand on a phone",
      "/groups",
      async (page) => {
        await page.locator(".group-row").first().waitFor()
        const environment = page.getByLabel("Environment")
        assert.isFalse(await environment.isVisible())
        await page.getByRole("button", { name: "Filters" }).click()
        await environment.selectOption("maze_0")
        await Browser.becomes(() => found(page), `${BrokenRun.steps} match`)
        await page.getByLabel("Step from").fill("51")
        await Browser.becomes(() => found(page), "10 match")
        assert.isAtMost(await overhang(page), 0)
        assert.deepStrictEqual(await Browser.violations(page), [])
        await page.getByRole("button", { name: /^Filters/ }).click()
        assert.isFalse(await environment.isVisible())
        assert.strictEqual(await page.locator(".filters-toggle .badge").innerText(), "2")
        await page.locator(".group-row a").first().click()
        await page.locator(".rollout").first().waitFor()
        assert.isAtMost(await overhang(page), 0)
      },
      { viewport: { width: 390, height: 844 }, isMobile: true }
    )

    seen(
      "use a large screen",
      "/",
      async (page) => {
        const charts = page.locator(".charts").nth(1).locator("figure")
        await charts.first().waitFor()
        assert.isAtMost(await overhang(page), 0)
        const tops = await charts.evaluateAll((all) => all.map((one) => Math.round(one.getBoundingClientRect().top)))
        // Side by side, and no wider than anybody can follow.
        assert.isAtLeast(tops.filter((top) => top === tops[0]).length, 3)
        const widths = await charts.evaluateAll((all) => all.map((one) => one.getBoundingClientRect().width))
        assert.isBelow(Math.max(...widths), 1300)
        await page.goto(page.url().replace("#/?", "#/groups?"))
        await page.locator(".group-row a").first().click()
        await page.locator(".rollout").nth(3).waitFor()
        const rollouts = await page
          .locator(".rollout")
          .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().top))
        assert.lengthOf(new Set(rollouts), 1)
        assert.isAtMost(await overhang(page), 0)
      },
      { viewport: { width: 3840, height: 2160 } }
    )
  })
})
