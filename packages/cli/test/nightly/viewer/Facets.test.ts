import { assert, describe, it } from "@effect/vitest"
import type { Locator, Page } from "playwright-core"
import * as Browser from "../../viewer/Browser.ts"
import { comparedRuns, environments, names } from "../../viewer/ComparedRuns.ts"

const figure = (page: Page, name: string) => page.getByRole("figure", { name, exact: true }).first()

/** The colours of the swatches below an element, by what stands beside them. */
const swatches = (items: Locator) =>
  items.evaluateAll((items) =>
    Object.fromEntries(
      items.map((item) => [
        (item.querySelector(".chart-name, .sr-only") ?? item).textContent.trim(),
        item.querySelector(".line-swatch path")?.getAttribute("stroke")
      ])
    )
  )

describe.skipIf(!Browser.isPresent)(`several runs of several environments${Browser.absence}`, () => {
  const { open, save } = Browser.suite()
  let saved: string | undefined
  const visit = (address: string, options = {}) => {
    saved ??= save("compared", { title: "Compared", runs: comparedRuns() })
    return open(`${saved}#${address}`, options)
  }
  const all = "/?run=first&with=second,third"

  it("are drawn in facets, an environment each, with the same axis and a colour for each run", async () => {
    const { errors, page, requests } = await visit(all)
    const rewards = figure(page, "Reward by environment")
    await rewards.scrollIntoViewIfNeeded()
    await rewards.locator("canvas").nth(2).waitFor()
    assert.deepStrictEqual(await rewards.locator("h4").allInnerTexts(), environments)
    assert.isFalse(await page.evaluate("document.images.length > 0"))
    assert.deepStrictEqual(await rewards.locator(".chart-name").allInnerTexts(), names)

    const everywhere = await swatches(page.locator(".chips .chip"))
    assert.lengthOf(new Set(Object.values(everywhere)), 3)
    assert.deepStrictEqual(await swatches(rewards.locator(".chart-legend li")), everywhere)
    for (const at of [0, 1, 2]) {
      assert.deepStrictEqual(await swatches(rewards.locator(".facet").nth(at).locator(".facet-values li")), everywhere)
    }

    // With the third's axis the first one's curves lie at the bottom; without the third's curves they would fill it.
    const top = () =>
      page.evaluate<number>(`(() => {
        const figures = [...document.querySelectorAll("figure.facets")]
        const canvas = figures.find((it) => it.innerText.startsWith("Reward by")).querySelector(".facet canvas")
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height)
        for (let at = 0; at < data.length; at += 4) {
          if (data[at + 3] > 99 && Math.abs(data[at] - data[at + 2]) > 60) return at / 4 / canvas.width / canvas.height
        }
        return 1
      })()`)
    await Browser.holds(async () => (await top()) > 0.6 && (await top()) < 1, "curves at the bottom")
    assert.deepStrictEqual([requests, errors], [[], []])
  })

  it("hide a run in all facets, keep the colours of the others when one goes, and open groups by keyboard", async () => {
    const { errors, page } = await visit(all)
    const rewards = figure(page, "Reward by environment")
    await rewards.scrollIntoViewIfNeeded()
    await rewards.getByRole("button", { name: "second" }).click()
    await Browser.becomes(() => rewards.locator(".facet-values li").count(), 6)
    const before = await swatches(page.locator(".chips .chip"))
    await page.getByRole("button", { name: "Remove second" }).click()
    await Browser.becomes(() => swatches(page.locator(".chips .chip")), {
      first: before["first"],
      third: before["third"]
    })
    await Browser.becomes(() => rewards.locator(".chart-name").allInnerTexts(), ["first", "third"])

    await rewards.getByText("Values", { exact: false }).first().click()
    const rows = rewards.getByRole("table").locator("tbody th")
    await Browser.becomes(
      () => rows.allInnerTexts(),
      ["first", "third"].flatMap((run) => environments.map((environment) => `${run} · ${environment}`))
    )
    const plot = page.getByRole("slider", { name: /^Reward by environment · letters/ })
    await plot.focus()
    await page.keyboard.press("End")
    await Browser.becomes(() => plot.getAttribute("aria-valuetext"), "step 40: first 100, third 120")
    await page.keyboard.press("Enter")
    await Browser.holds(async () => /environment=letters/.test(await page.evaluate("location.hash")), "its groups")
    assert.deepStrictEqual(errors, [])
  })

  it("are one chart where one run has few curves, and facets where they are a crowd", async () => {
    const { page } = await visit("/?run=first")
    await figure(page, "Reward by environment").waitFor()
    assert.strictEqual(await figure(page, "Reward by environment").locator(".facet").count(), 0)
    assert.strictEqual(await figure(page, "Completion length").locator(".facet").count(), 3)
  })

  for (const [name, options] of [
    ["on a desktop", {}],
    ["on a phone", { viewport: { width: 390, height: 800 } }],
    ["in the dark", { colorScheme: "dark" }]
  ] as const) {
    it(`have no hindrance ${name}, and no second scroll bar`, async () => {
      const { page } = await visit(all, options)
      await figure(page, "Reward by environment").waitFor()
      assert.deepStrictEqual(await Browser.violations(page), [])
      assert.isTrue(await page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))
    })
  }
})
