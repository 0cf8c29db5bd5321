/** Old scores beside today's, in the viewer. */
import { assert, describe, it } from "@effect/vitest"
import * as Browser from "../../viewer/Browser.ts"
import { savedRuns } from "../../viewer/SavedRollouts.ts"

const { runs, ...rest } = savedRuns()
const reverified = {
  environment: "math",
  same: 3,
  rows: [
    {
      groups: ["2"],
      item: "0123456789abcdef",
      label: "How many live in Lyon?",
      before: [1],
      after: [0.75],
      components: {}
    },
    {
      groups: ["1"],
      item: "fedcba9876543210",
      label: "How long until 120 litres flow?",
      before: [0, 1, 0.5],
      after: [0, 1, 1],
      components: {
        format: [
          [0, 0, 0.5],
          [0, 0, 1]
        ]
      }
    },
    { groups: ["4"], item: null, reason: "it has no item_id, and several items ask <b>what</b> it asks" }
  ]
}
const saved = { ...rest, runs: runs.map((run) => (run.name === "kinds" ? { ...run, reverified } : run)) }

describe.skipIf(!Browser.isPresent)(`scores of another day${Browser.absence}`, () => {
  const { open, save } = Browser.suite()
  let address: string | undefined
  const visit = (hash: string, options = {}) => open(`${(address ??= save("again", saved))}#${hash}`, options)

  it("lists what changed most first, with the way to each rollout, and what could not be scored", async () => {
    const { errors, page, requests } = await visit("/groups?run=kinds")
    await page.getByRole("link", { name: "Re-scored" }).click()
    await page.getByRole("heading", { name: "Re-scored" }).waitFor()
    assert.strictEqual(
      await page.locator(".section-head [role=status]").innerText(),
      "2 of 6 changed with the current math. Their mean score: 0.625 → 0.688. 1 could not be scored."
    )
    const rows = () =>
      page.locator(".data-table tbody tr").evaluateAll((all) => all.map(({ textContent }) => textContent))
    const [first = "", second = ""] = await rows()
    assert.match(first, /group 1.*120 litres.*0\.5 → 1.*2 unchanged.*format 0\.167 → 0\.333/)
    assert.match(second, /group 2.*Lyon.*1 → 0\.75/)
    assert.deepStrictEqual(await Browser.violations(page), [])
    await page.getByRole("button", { name: "lower 1" }).click()
    await Browser.becomes(async () => (await rows()).length, 1)
    await page.getByRole("button", { name: "not scored 1" }).click()
    await page.getByText("several items ask <b>what</b> it asks").waitFor()
    await page.getByRole("button", { name: "changed 2" }).click()
    await page.getByRole("link", { name: "0.5 → 1, rollout 3 of group 1" }).click()
    await page.waitForSelector(".rollout.is-current .rescored")
    assert.strictEqual(await page.locator(".rescored").allInnerTexts().then(String), "now 1")
    assert.deepStrictEqual([requests, errors], [[], []])
  })

  it("says where nobody did which command does it", async () => {
    const { page } = await visit("/reverified?run=many")
    await page.getByText("Not re-scored yet").waitFor()
    await page
      .getByText("npx @atropos/cli reverify groups.jsonl --env math --page again.html --open", { exact: true })
      .waitFor()
    assert.strictEqual(await page.getByRole("link", { name: "Re-scored" }).count(), 0)
    assert.deepStrictEqual(await Browser.violations(page), [])
  })

  it("fits a phone, and is readable in the dark", async () => {
    for (const options of [{ viewport: { width: 390, height: 800 } }, { colorScheme: "dark" }]) {
      const { page } = await visit("/reverified?run=kinds", options)
      await page.getByRole("heading", { name: "Re-scored" }).waitFor()
      assert.isTrue(await page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))
      assert.deepStrictEqual(await Browser.violations(page), [])
    }
  })
})
