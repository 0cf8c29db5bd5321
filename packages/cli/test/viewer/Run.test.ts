/**
 * The run and service pages while `atropos up` trains in a process of its own, and everything else that is seen of a
 * live run.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { fileURLToPath } from "node:url"
import type { Page } from "playwright-core"
import * as Atropos from "../crash/Atropos.ts"
import * as Browser from "./Browser.ts"

const patient = fileURLToPath(new URL("../fixtures/patient.ts", import.meta.url))

/** More steps than any machine takes while the tests look. */
const steps = 100_000
const run = "patient-1"

class Live extends Context.Service<Live, string>()("@atropos/cli/test/viewer/Live") {}

const layerLive = Layer.effect(
  Live,
  Effect.gen(function* () {
    const cwd = yield* Atropos.folder
    const { says } = yield* Atropos.start(
      ["up", "--env", patient, "--steps", String(steps), "--threads", "1", "--port", "0", "--policy_port", "0"],
      { cwd }
    )
    const [, url = ""] = yield* says(/service at (http:\S+)/)
    yield* says(/[1-9]\d*\/100000 steps/)
    return url
  })
).pipe(Layer.provide(NodeServices.layer))

const tile = (page: Page, name: string) =>
  page
    .locator(".tile", { has: page.getByText(name, { exact: true }) })
    .locator(".tile-value")
    .innerText()

const chart = (page: Page, name: string) => page.getByRole("figure", { name, exact: true }).first()

/**
 * Pixels of a chart, of its right part `from` a share of its width, that have a curve's colour, in which red and blue
 * are far apart; axes and grid are grey.
 */
const coloured = (page: Page, name: string, from = 0) =>
  page.evaluate<number>(`(() => {
    const figures = [...document.querySelectorAll("figure")]
    const figure = figures.find((figure) => figure.querySelector("h3").textContent === ${JSON.stringify(name)})
    if (figure === undefined) return 0
    const canvas = figure.querySelector("canvas")
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height)
    let count = 0
    for (let at = 0; at < data.length; at += 4) {
      if ((at / 4) % canvas.width < ${from} * canvas.width) continue
      if (data[at + 3] > 99 && Math.abs(data[at] - data[at + 2]) > 60) count++
    }
    return count
  })()`)

const focused = async (page: Page) => {
  const name = await page.evaluate<string>(
    "(({ activeElement: it }) => it.getAttribute('aria-label') ?? it.labels?.[0]?.innerText ?? it.innerText)(document)"
  )
  return name.split("\n")[0]!
}

/** What the Tab key comes to until `isThere`. */
const walkTo = async (page: Page, isThere: (name: string) => boolean): Promise<ReadonlyArray<string>> => {
  const names: Array<string> = []
  while (names.length < 60 && !isThere(names.at(-1) ?? "")) names.push(...(await walk(page, 1)))
  return names
}

/** What the Tab key comes to, one after the other. */
const walk = async (page: Page, presses: number): Promise<ReadonlyArray<string>> => {
  const names: Array<string> = []
  for (let at = 0; at < presses; at++) {
    await page.keyboard.press("Tab")
    names.push(await focused(page))
  }
  return names
}

const columns = (page: Page, table: string) =>
  page.getByRole("table", { name: table }).getByRole("columnheader").allInnerTexts()
const cells = (page: Page, table: string) =>
  page.getByRole("table", { name: table }).locator("tbody tr").first().locator("th, td").allInnerTexts()

describe.skipIf(!Browser.isPresent)(`a live run${Browser.absence}`, () => {
  const { open } = Browser.suite()

  it.layer(layerLive, { excludeTestServices: true })("in a browser", (it) => {
    /** A test that visits the service. */
    const seen = (name: string, look: (visit: (address: string) => Promise<Page>, url: string) => Promise<void>) =>
      it.effect(name, () =>
        Effect.gen(function* () {
          const url = yield* Live
          const pages: Array<Browser.Opened> = []
          const visit = async (address: string) => {
            const opened = await open(`${url}/ui#${address}`)
            pages.push(opened)
            return opened.page
          }
          yield* Effect.promise(() => look(visit, url))
          assert.deepStrictEqual(
            pages.flatMap(({ errors }) => errors),
            []
          )
          yield* Effect.promise(() => Promise.all(pages.map(({ page }) => page.context().close())))
        })
      )

    seen("has figures and curves, which change as it trains", async (visit) => {
      const page = await visit("/")
      await page.getByRole("heading", { name: `Run ${run}` }).waitFor({ state: "attached" })
      await page.locator(".liveness.live").waitFor()
      const step = await tile(page, "Step")
      await page.locator(".liveness.is-running").waitFor()
      assert.include(await page.locator(".tiles").innerText(), "of 100,000 · running")
      for (const name of ["Reward", "Speed", "Time"]) assert.match(await tile(page, name), /\d/, name)

      for (const name of [
        "Reward",
        "Identical scores",
        "Loss",
        "Clip fraction",
        "Gradient norm",
        "Completion length",
        "Truncation",
        "Staleness",
        "Training tokens/s",
        "Step time breakdown"
      ]) {
        await Browser.holds(async () => {
          // Flat curves are folded, from their tenth step on.
          const fold = page.locator("details.unchanged:not([open]) summary", { hasText: name })
          if ((await fold.count()) > 0) await fold.click()
          if (await chart(page, name).isVisible()) await chart(page, name).scrollIntoViewIfNeeded()
          return (await coloured(page, name)) > 20
        }, `a curve of ${name}`)
      }
      assert.strictEqual(
        await page.evaluate("document.documentElement.scrollHeight - innerHeight"),
        0,
        "one scroll bar"
      )
      // Of a single environment they are the reward.
      assert.isFalse(await chart(page, "Reward by environment").isVisible())
      assert.isTrue(await page.locator(".charts.is-main").getByRole("heading", { name: "Reward" }).isVisible())
      await chart(page, "Loss").scrollIntoViewIfNeeded()
      await chart(page, "Loss").locator("summary").click()
      const tops = await page
        .locator(".chart-section", { has: page.getByRole("heading", { name: "Learning" }) })
        .locator(".chart-plot")
        .evaluateAll((plots) => plots.map((plot) => plot.getBoundingClientRect().top))
      assert.lengthOf(new Set(tops.slice(0, 3)), 1, "plots stand side by side, whatever is open below one")
      const speed = () => chart(page, "Training tokens/s").innerText()
      // Only what is on the screen follows.
      await chart(page, "Training tokens/s").scrollIntoViewIfNeeded()
      const before = await speed()
      await Browser.holds(async () => (await tile(page, "Step")) !== step, "another step")
      await Browser.holds(async () => (await speed()) !== before, "another figure of its curve")
    })

    seen("has the settings that its trainer and its environment were started with", async (visit) => {
      const page = await visit(`/?run=${run}`)
      await page.locator(".settings summary").click()
      const table = page.getByRole("table", { name: "Settings" })
      const valueOf = (name: string, of: string) =>
        table
          .locator("tbody tr", { has: page.getByText(name, { exact: true }) })
          .filter({ hasText: of })
          .locator("td")
          .last()
          .innerText()
      await Browser.holds(async () => (await valueOf("training_steps", "trainer")) === String(steps), "its steps")
      await Browser.holds(async () => Number(await valueOf("group_size", "patient_0")) > 1, "of the environment")
      assert.strictEqual(await valueOf("num_steps", "run"), String(steps))
    })

    seen("is compared with another run, curve over curve, by a link that says so", async (visit, url) => {
      const page = await visit(`/?run=${run}`)
      // As a program does: of what a browser sends, the service wants to know where it comes from.
      const send = async (path: string, data: object) => {
        const headers = { "content-type": "application/json" }
        const answer = await fetch(`${url}/v1/runs${path}`, { method: "POST", headers, body: JSON.stringify(data) })
        assert.isTrue(answer.ok, await answer.text())
      }
      await send("", {
        name: "earlier",
        batch_size: 8,
        max_token_length: 64,
        starting_step: 0,
        num_steps: 4000,
        checkpoint_dir: "",
        save_checkpoint_interval: 0,
        wandb_group: "",
        wandb_project: ""
      })
      // Over more steps than the live run will have by then: its curve would be a speck beside that one's.
      for (let part = 1; part <= 40; part++) {
        await send("/earlier/metrics", {
          source: "trainer",
          step: 100 * part,
          values: { "reward/mean": part / 40, "train/loss": 1 / part, "train/step_time": 2 }
        })
      }
      await page.reload()
      await page.getByText("Compare runs").click()
      await page.getByRole("checkbox", { name: "earlier" }).check()
      await page.keyboard.press("Escape")
      const names = () => chart(page, "Reward").locator(".chart-name").allInnerTexts()
      await Browser.becomes(names, [run, "earlier"])
      const compared = page.getByRole("table", { name: "Run comparison" })
      await Browser.becomes(() => compared.locator("tbody th").allInnerTexts(), [run, "earlier"])
      assert.match(
        (await compared.locator("tbody tr").last().innerText()).replaceAll(/\s+/g, " "),
        /^earlier done 4,000 /
      )
      assert.include(page.url(), "with=earlier")

      const drawnToTheEnd = async () => (await coloured(page, "Reward", 0.7)) > 0
      await Browser.holds(drawnToTheEnd, "the longer curve")
      const shown = chart(page, "Reward").getByRole("button", { name: "earlier" })
      await shown.click()
      assert.strictEqual(await shown.getAttribute("aria-pressed"), "false")
      await Browser.holds(async () => !(await drawnToTheEnd()), "a curve less")

      await page.getByRole("button", { name: "Remove earlier" }).click()
      await compared.waitFor({ state: "detached" })
      await (await visit(`/?run=${run}&with=earlier`)).getByRole("table", { name: "Run comparison" }).waitFor()
    })

    seen("is followed in as many tabs as somebody opens, and by none that is hidden", async (visit) => {
      const page = await visit(`/?run=${run}`)
      const held = () => page.evaluate<number>("navigator.locks.query().then(({ held }) => held.length)")
      await Browser.becomes(held, 2)
      const turn = (isHidden: boolean) =>
        page.evaluate(`{
          Object.defineProperty(document, "hidden", { value: ${isHidden}, configurable: true })
          document.dispatchEvent(new Event("visibilitychange"))
        }`)
      await turn(true)
      await Browser.becomes(held, 0)
      await turn(false)
      await Browser.becomes(held, 2)
      // A browser has six connections to a service; each tab would take two.
      for (let n = 0; n < 3; n++) {
        const tab = await page.context().newPage()
        await tab.goto(page.url())
        await tab.locator(".liveness.live").waitFor()
        const step = await tile(tab, "Step")
        await Browser.holds(async () => (await tile(tab, "Step")) !== step, `another step in tab ${n}`)
      }
      assert.isAtMost(await held(), 4)
    })

    seen("has a page of its environments, shares, inference servers, console and batches", async (visit) => {
      const page = await visit(`/service?run=${run}`)
      for (const name of ["Environments", "Inference servers", "Batches"]) {
        await page.getByRole("table", { name }).waitFor()
      }
      const [environment, ...standing] = await cells(page, "Environments")
      assert.strictEqual(environment, "patient_0")
      assert.deepStrictEqual((await columns(page, "Environments")).slice(1, 4), ["State", "Weight", "Share of batches"])
      assert.match(standing[0]!, /^connected/)
      await Browser.holds(async () => (await cells(page, "Environments"))[3] === "100% (target 100%)", "its share")
      assert.include(await cells(page, "Inference servers"), "up")
      const console = page.getByRole("log", { name: "Console output" })
      await Browser.holds(async () => (await console.innerText()).includes("steps"), "the lines of steps")
      const [batch] = await cells(page, "Batches")
      await Browser.holds(async () => (await cells(page, "Batches"))[0] !== batch, "another batch")
      assert.include(await cells(page, "Batches"), "atropos up")
    })

    seen("is walked through by keyboard", async (visit) => {
      const page = await visit(`/groups?run=${run}`)
      await page.locator(".row-link").first().waitFor()
      const places = await walkTo(page, (name) => /^\d+$/.test(name))
      // Other tests begin more runs, and a list of runs is one more page.
      const pages = places.filter((name) => name !== "Runs")
      assert.deepStrictEqual(pages.slice(0, 11), [
        "Skip to content",
        "Atropos",
        "Run",
        "Run",
        "Groups",
        "Evaluations",
        "Hacking",
        "Notes",
        "Service",
        "Theme: system",
        "Help: keyboard"
      ])
      for (const place of ["Search in messages", "Step from", "Mean score to", "All wrong", "Order", "List"])
        assert.include(places, place)
      assert.match(places.at(-1)!, /^\d+$/)
      await page.keyboard.press("Enter")
      await page.locator(".rollout").first().waitFor()

      await page.keyboard.press("?")
      const help = page.getByRole("dialog", { name: "Keyboard" })
      await help.getByText("back to list").waitFor()
      await page.keyboard.press("Escape")
      await help.waitFor({ state: "detached" })
      await page.keyboard.press("Escape")
      await page.getByRole("heading", { name: "Groups" }).waitFor()

      const fresh = await visit(`/?run=${run}`)
      await fresh.locator(".tile").first().waitFor()
      // Comes with the list of runs.
      await fresh.getByText("Compare runs").waitFor()
      await fresh.keyboard.press("Tab")
      await fresh.keyboard.press("Enter")
      assert.strictEqual(await fresh.evaluate("document.activeElement.id"), "main")
      const reached = await walk(fresh, 12)
      assert.include(reached, "Compare runs")
      await fresh.keyboard.press("l")
      await Browser.holds(() => Promise.resolve(fresh.url().includes("log=y")), "logarithmic values in the address")
    })

    seen("has no serious hindrance, light or dark, on any page", async (visit) => {
      const page = await visit(`/groups?run=${run}`)
      await page.locator(".row-link").first().waitFor()
      const id = await page.locator(".row-link").first().innerText()
      for (const [address, sign] of [
        [`/groups?run=${run}`, ".row-link"],
        [`/?run=${run}`, ".tile"],
        [`/groups/${run}/${id}`, ".rollout"],
        [`/groups/${run}/${id}?view=tokens`, ".token"],
        [`/service?run=${run}`, ".data-table"]
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
