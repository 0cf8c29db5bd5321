import { assert, describe, it } from "@effect/vitest"
import * as Browser from "../../viewer/Browser.ts"
import * as Saved from "../../viewer/Saved.ts"
import { savedRuns } from "../../viewer/SavedRollouts.ts"

describe.skipIf(!Browser.isPresent)(`rollouts compared${Browser.absence}`, () => {
  const { open, save } = Browser.suite()
  let saved: string | undefined
  const visit = (address: string, options = {}) =>
    open(`${(saved ??= save("compare", savedRuns()))}#${address}`, options)

  it("shows by one key where the best and the worst of a group part, and leads to that token", async () => {
    const { errors, page, requests } = await visit("/groups/kinds/1")
    await page.waitForSelector(".rollout")
    await page.keyboard.press("d")
    await page.getByRole("heading", { name: /They diverge at token \d+/ }).waitFor()
    assert.deepStrictEqual(
      [await page.getByLabel("Left").inputValue(), await page.getByLabel("Right").inputValue()],
      ["1", "0"]
    )
    const told = await page.locator(".parting [role=status]").innerText()
    assert.match(
      told,
      /^The first \d+ tokens are identical\. Then rollout 2 has ".+" \(probability .+\), rollout 1 has /
    )
    assert.match(await page.locator(".differences").innerText(), /correct\s+1\s+0\s+−1/)
    assert.deepStrictEqual(await Browser.violations(page), [])
    await page.keyboard.press("K")
    await Browser.becomes(() => page.getByLabel("Right").inputValue(), "2")
    const at = /token (\d+)/.exec(await page.locator(".parting h2").innerText())?.[1]
    await page.getByRole("link", { name: `Rollout 3 at token ${at}` }).click()
    await page.waitForSelector(".token")
    assert.include(await page.evaluate<string>("location.hash"), `rollout=2&view=tokens&token=${Number(at) - 1}`)
    assert.deepStrictEqual([requests, errors], [[], []])
  })

  it("shows the sessions of a group as trees of their branches, and compares two branches", async () => {
    const { page } = await visit("/groups/sessions/1?view=compare")
    await page.getByRole("heading", { name: "Shared prefixes" }).waitFor()
    assert.deepStrictEqual(await page.locator(".beginnings h3").allInnerTexts(), [
      "Session 0 1 sequence, 1 conversation",
      "Session 1 3 sequences, 2 conversations"
    ])
    await page.getByRole("button", { name: "compare 2 with 3" }).click()
    await page.getByText(/rollout 3 has "?\s*twice/).waitFor()
    assert.include(await page.evaluate<string>("location.hash"), "rollout=1&with=2")
  })

  it("saves the tree of a group's sessions, a row for each branch, and as it is drawn", async () => {
    const { errors, page } = await visit("/groups/sessions/1?view=compare")
    await page.getByRole("heading", { name: "Shared prefixes" }).waitFor()
    const rows = Saved.rows(await Saved.by(page, "JSONL of prefixes of group 1"))
    assert.deepStrictEqual([...new Set(rows.map(({ session }) => session))], ["0", "1"])
    const parted = rows.filter(({ branch }) => String(branch).includes("."))
    assert.isAbove(parted.length, 1)
    const above = rows.find(({ branch, session }) => session === "1" && branch === "1")!
    assert.strictEqual(parted[0]!["from_token"], Number(above["to_token"]) + 1)
    const png = await Saved.by(page, "PNG of prefixes of group 1")
    assert.strictEqual(png.bytes.toString("latin1", 1, 4), "PNG")
    assert.isAbove(
      png.bytes.readUInt32BE(20),
      2 * (await page.locator(".beginnings .branches").first().boundingBox())!.height
    )
    assert.deepStrictEqual(errors, [])
  })

  it("is quiet about a group that means harm, and fast with a huge one, on a phone too", async () => {
    const { errors, page, requests } = await visit("/groups/kinds/4?view=compare", {
      viewport: { width: 390, height: 800 }
    })
    await page.waitForSelector(".parting")
    assert.isTrue(await page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))
    await page.goto(`${saved}#/groups/kinds/5?view=compare`)
    await page.getByRole("heading", { name: "Shared prefixes" }).waitFor()
    assert.isUndefined(await page.evaluate("window.harm"))
    assert.deepStrictEqual([requests, errors], [[], []])
  })
})
