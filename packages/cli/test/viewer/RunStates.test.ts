/** How a run stands is on its page: one that was killed is not "live", and one cause of trouble is one card. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Effect, Layer } from "effect"
import { HttpServer } from "effect/http"
import type { Page } from "playwright-core"
import * as MovableClock from "../../../api/test/MovableClock.ts"
import * as Browser from "./Browser.ts"
import * as OpenService from "./OpenService.ts"
import * as Registrations from "./Registrations.ts"

const { post } = OpenService

class Service extends Context.Service<Service, { readonly url: string } & MovableClock.MovableClock>()(
  "@atropos/cli/test/viewer/RunStates/Service"
) {}

/** A service whose clock the test moves. */
const layerTest = Layer.unwrap(
  Effect.map(MovableClock.make, (clock) =>
    Layer.effect(
      Service,
      Effect.map(HttpServer.addressFormattedWith(Effect.succeed), (url) => ({ url, ...clock }))
    ).pipe(Layer.provide(OpenService.layer), Layer.provide(Layer.succeed(Clock.Clock, clock.clock)))
  )
)

const report = { running: 0, unsent: 0, items_per_minute: 0, failures: 3, servers: [] }

/** A run of 100 steps that has taken so many, whose grader gives everything nothing from the 21st on. */
const train = async (url: string, run: string, steps: number, batchSize = 3) => {
  await post(url, "", Registrations.run(run, batchSize))
  await post(url, `/${run}/batches/claim`, { owner: "the trainer", wait_seconds: 0, lease_seconds: 60 })
  await post(url, `/${run}/environments`, Registrations.environment)
  for (let step = 1; step <= steps; step++) {
    const mean = step < 21 ? 0.5 + 0.02 * Math.sin(step * 2.4) : 0
    const std = step < 21 ? 0.5 : 0
    const identical = step < 21 ? 0.1 : 1
    await post(url, `/${run}/metrics`, {
      source: "trainer",
      step,
      values: {
        "reward/mean": mean,
        "reward/std": std,
        "reward/solved_fraction": mean,
        "grpo/entropy": 0.6,
        "train/step_time": 1,
        "batch/groups": 8,
        "batch/zero_variance_groups": 8 * identical,
        "train/skipped": step < 21 ? 0 : 1
      }
    })
    await post(url, `/${run}/metrics`, {
      source: "math_0",
      step,
      values: {
        "train/scores_mean": mean,
        "train/scores_std": std,
        "train/solved_fraction": mean,
        "train/percent_identical": identical,
        "train/completion_lengths": 40
      }
    })
  }
}

const titles = (page: Page) => page.locator(".finding h3").allInnerTexts()

describe.skipIf(!Browser.isPresent)(`how a run stands${Browser.absence}`, () => {
  const { open } = Browser.suite()

  it.layer(layerTest, { excludeTestServices: true })("in a browser", (it) => {
    it.effect("is running while it moves, stalled with the reason, and stopped once nobody is heard of", () =>
      Effect.gen(function* () {
        const { advance, clock, url } = yield* Service
        yield* Effect.promise(() => train(url, "killed", 40))
        const { errors, page } = yield* Effect.promise(() => open(`${url}/ui#/?run=killed`))
        const tiles = () => page.locator(".tiles").innerText()
        yield* Effect.promise(async () => {
          await page.locator(".liveness.is-running").waitFor()
          assert.include(await tiles(), " left")
          // One cause, with what follows from it below.
          await Browser.becomes(() => titles(page), ["Grader changed"])
          const card = page.locator(".finding")
          assert.include(await card.innerText(), "All scores of math_0 are 0 since step 21")
          await card.getByText(/^\d consequences$/).click()
          assert.include(await card.innerText(), "Steps skipped")
        })
        yield* advance(110_000)
        const last_error = { at: (yield* clock.currentTimeMillis) - 5000, message: "the grader refused the connection" }
        yield* Effect.promise(async () => {
          await post(url, "/killed/environments/0/report", { ...report, last_error })
          await post(url, "/killed/batches/claim", { owner: "the trainer", wait_seconds: 0, lease_seconds: 60 })
          await page.reload()
          await page.locator(".liveness.is-stalled").waitFor()
          assert.notInclude(await tiles(), " left")
          const [first] = await titles(page)
          assert.strictEqual(first, "Run stalled")
          assert.include(await page.locator(".finding").first().innerText(), "the grader refused the connection")
          assert.deepStrictEqual(await Browser.violations(page), [])
        })
        yield* advance(180_000)
        yield* Effect.promise(async () => {
          await page.reload()
          await page.locator(".liveness.is-stopped").waitFor()
          assert.match(await tiles(), /of 100 · stopped \d+ \w+( \d+ \w+)? ago/)
          assert.notInclude(await tiles(), " left")
          assert.include(
            await page.locator(".finding").first().innerText(),
            "without deregistering after step 40 of 100"
          )
          await page.locator(".finding").first().getByRole("link", { name: "Service and errors" }).click()
          await page.getByText("the grader refused the connection").first().waitFor()
          await page.context().close()
        })
        assert.deepStrictEqual(errors, [])
      })
    )

    it.effect("before its first step it shows what fails, without waiting until it is stalled", () =>
      Effect.gen(function* () {
        const { clock, url } = yield* Service
        const last_error = { at: yield* clock.currentTimeMillis, message: "the grader has no key" }
        yield* Effect.promise(async () => {
          await train(url, "failing", 0)
          await post(url, "/failing/environments/0/report", { ...report, last_error })
          const { errors, page } = await open(`${url}/ui#/?run=failing`)
          await page.getByText("Last error of math_0: the grader has no key").waitFor()
          await page.context().close()
          assert.deepStrictEqual(errors, [])
        })
      })
    )

    it.effect("is done after its last step, whatever time has gone by", () =>
      Effect.gen(function* () {
        const { advance, url } = yield* Service
        yield* Effect.promise(() => train(url, "whole", 20))
        yield* Effect.promise(() =>
          post(url, "/whole/metrics", { source: "trainer", step: 100, values: { "reward/mean": 0.5 } })
        )
        yield* advance(200_000)
        const { page } = yield* Effect.promise(() => open(`${url}/ui#/?run=whole`))
        yield* Effect.promise(async () => {
          await Browser.holds(
            async () => (await page.locator(".tiles").innerText()).includes("of 100 · done"),
            "the end"
          )
          assert.deepStrictEqual(await titles(page), [])
          await page.context().close()
        })
      })
    )

    it.effect("is in a list of all runs with what differs, two clicks from both in one chart", () =>
      Effect.gen(function* () {
        const { url } = yield* Service
        yield* Effect.promise(() => train(url, "larger", 3, 6))
        const { errors, page } = yield* Effect.promise(() => open(`${url}/ui#/?run=larger`))
        yield* Effect.promise(async () => {
          await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Runs" }).click()
          const rows = () => page.getByRole("table", { name: "Runs" }).locator("tbody tr").allInnerTexts()
          await page.getByRole("columnheader", { name: "batch_size" }).waitFor()
          const isListed = async () =>
            /running\s+\d+ of 100\s+[\d.]+\s+–\s+\S.*\s+this run\s+6/.test(
              (await rows()).find((row) => row.includes("larger")) ?? ""
            )
          await Browser.holds(isListed, "the run's reward and the time of its last step")
          await page.getByRole("searchbox", { name: "Search runs" }).fill("whole")
          await Browser.becomes(async () => (await rows()).length, 1)
          assert.deepStrictEqual(await Browser.violations(page), [])
          await page.getByRole("link", { name: "Overlay with larger" }).click()
          const compared = page.getByRole("table", { name: "Run comparison" }).locator("tbody tr")
          await Browser.becomes(() => compared.count(), 2)
          await page.context().close()
        })
        assert.deepStrictEqual(errors, [])
      })
    )
  })
})
