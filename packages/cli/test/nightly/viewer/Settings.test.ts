import { assert, describe, it } from "@effect/vitest"
import * as Browser from "../../viewer/Browser.ts"
import { comparedRuns } from "../../viewer/ComparedRuns.ts"

const hostile = `<img src=x onerror="document.title='owned'">`

const settingsOf = (lr: number) => [
  {
    source: "trainer",
    kind: "trainer",
    at: 0,
    settings: { trainer: { lr, loss: "grpo", seed: 1 }, model: { path: "tiny" } }
  },
  { source: "letters_0", kind: "environment", at: 0, settings: { group_size: 8, system_prompt: hostile } }
]

describe.skipIf(!Browser.isPresent)(`the settings of runs${Browser.absence}`, () => {
  const { open, save } = Browser.suite()
  let saved: string | undefined
  const visit = (address: string, options = {}) => {
    const [first, second, third] = comparedRuns()
    saved ??= save("settings", {
      title: "Settings",
      runs: [{ ...first, settings: settingsOf(0.001) }, { ...second, settings: settingsOf(0.0005) }, third]
    })
    return open(`${saved}#${address}`, options)
  }

  it("of one are a table that is opened by keyboard and searched, whatever is in it", async () => {
    const { errors, page, requests } = await visit("/?run=first")
    const summary = page.locator(".settings summary")
    await summary.focus()
    await page.keyboard.press("Enter")
    const table = page.getByRole("table", { name: "Settings" })
    await table.getByText(hostile).waitFor()
    assert.deepStrictEqual(await table.getByRole("columnheader").allInnerTexts(), ["Setting", "Scope", "Value"])
    await page.getByRole("searchbox", { name: "Search settings" }).fill("trainer lr")
    await Browser.becomes(() => table.locator("tbody th, tbody td").allInnerTexts(), ["trainer.lr", "trainer", "0.001"])
    assert.notInclude(await page.title(), "owned")
    assert.deepStrictEqual([await Browser.violations(page), requests, errors], [[], [], []])
  })

  it("of several are cut to what differs, until all are wanted, and say of whom none are known", async () => {
    const { page } = await visit("/?run=first&with=second")
    await page.locator(".settings summary").click()
    const table = page.getByRole("table", { name: "Settings" })
    await Browser.becomes(
      () => table.locator("tbody th, tbody td").allInnerTexts(),
      ["trainer.lr", "trainer", "0.001", "0.0005"]
    )
    await page.getByRole("checkbox", { name: "differences only" }).uncheck()
    await table.getByText("system_prompt").waitFor()
    assert.deepStrictEqual(await Browser.violations(page), [])
    await page.goto(`${saved}#/?run=third`)
    await page.getByRole("heading", { name: "Run third" }).waitFor({ state: "attached" })
    await Browser.becomes(() => page.locator(".settings[open]").count(), 0)
    await page.locator(".settings summary").click()
    await page.getByText("No settings recorded for third").waitFor()
  })

  for (const [name, options] of [
    ["on a phone", { viewport: { width: 390, height: 800 } }],
    ["in the dark", { colorScheme: "dark" }]
  ] as const) {
    it(`have no hindrance ${name}`, async () => {
      const { page } = await visit("/?run=first&with=second,third", options)
      await page.locator(".settings summary").click()
      await page.getByRole("table", { name: "Settings" }).waitFor()
      assert.deepStrictEqual(await Browser.violations(page), [])
      assert.isTrue(await page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))
    })
  }
})
