import { assert, describe, it } from "@effect/vitest"
import * as Browser from "./Browser.ts"
import { hackedRun } from "./HackedRun.ts"
import * as Saved from "./Saved.ts"
import { savedRuns } from "./SavedRollouts.ts"

describe.skipIf(!Browser.isPresent)(`signs of reward hacking${Browser.absence}`, () => {
  const { open, save } = Browser.suite()
  let saved: string | undefined
  const visit = (address: string, options = {}) => {
    const { runs, title } = savedRuns()
    saved ??= save("hacking", { title, runs: [...runs, hackedRun()] })
    return open(`${saved}#${address}`, options)
  }

  it("are told in words, and lead to the rollouts in two clicks", async () => {
    const { errors, page, requests } = await visit("/groups?run=hacked")
    await page.getByRole("link", { name: "Hacking" }).click()
    const finding = page.locator(".finding", { hasText: "Longer answers score higher" })
    await finding.waitFor()
    assert.match(
      await finding.innerText(),
      /In the last 10 steps of tank, .* correlation 0\.\d\d; answers have [\d.]+ tokens, [\d.]+ at first \(since step 2\d\)/
    )
    await page.getByText(/^“.+” is in \d+% of the answers above their group mean/).waitFor()
    assert.deepStrictEqual(await Browser.violations(page), [])
    await finding.getByRole("link").click()
    await page.locator(".row-link").first().waitFor()
    const hash = await page.evaluate<string>("location.hash")
    assert.match(hash, /environment=tank&step_from=2\d&step_to=40&sort=longest_best/)
    assert.deepStrictEqual([requests, errors], [[], []])
  })

  it("lead from a phrase to the groups that have it, and from a point of a curve to its step", async () => {
    const { page } = await visit("/hacking?run=hacked")
    const phrase = page.getByRole("link", { name: /^trust me/ }).first()
    await Browser.moves(page, /#\/groups/, (options) => phrase.click(options))
    await Browser.becomes(() => page.locator(".groups-count").innerText(), "60 match")
    await page.goBack()
    const plot = page.getByRole("slider", { name: /^Length–score correlation/ })
    await Browser.moves(page, /step_from=40&step_to=40/, async (options) => {
      await plot.press("End", options)
      await plot.press("Enter", options)
    })
    await Browser.becomes(() => page.locator(".groups-count").innerText(), "3 match")
    assert.notInclude(page.url(), "q=trust")
  })

  it("save length against score, dot by dot and as they are drawn", async () => {
    const { page } = await visit("/hacking?run=hacked")
    await page.locator(".scatter").waitFor()
    const rows = Saved.rows(await Saved.by(page, "JSONL of Length vs score"))
    assert.deepStrictEqual([...new Set(rows.map(({ part }) => part))], ["first third", "last third"])
    assert.isTrue(rows.every(({ length, score }) => Number.isFinite(length) && Number.isFinite(score)))
    const png = await Saved.by(page, "PNG of Length vs score")
    assert.isAbove(await Saved.pixelsLike(page, png, ".scatter-grid", "stroke"), 1000)
    assert.strictEqual(png.bytes.toString("latin1", 1, 4), "PNG")
  })

  it("stay usable with ten thousand groups, on a phone, and say when there are none", async () => {
    const { errors, page } = await visit("/hacking?run=many", { viewport: { width: 390, height: 800 } })
    await page.getByText("Too few answers to judge").waitFor()
    assert.include(await page.locator(".section-head").first().innerText(), "10,000 groups")
    assert.isTrue(await page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))
    await page.goto(`${saved}#/hacking?run=hacked`)
    await page.locator(".scatter").waitFor()
    assert.isTrue(await page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))
    assert.deepStrictEqual(errors, [])
  })

  for (const colorScheme of ["light", "dark"] as const) {
    it(`can be read in all their colours (${colorScheme})`, async () => {
      const { page } = await visit("/hacking?run=hacked", { colorScheme })
      await page
        .getByRole("link", { name: /^trust me/ })
        .first()
        .waitFor()
      assert.deepStrictEqual(await Browser.violations(page, Browser.rulesOfColours), [])
    })
  }
})
