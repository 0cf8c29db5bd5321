/** When the turns of a group's rollouts happened, as the viewer draws and lists it. */
import { assert, describe, it } from "@effect/vitest"
import type { Page } from "playwright-core"
import * as Browser from "../../viewer/Browser.ts"
import * as Saved from "../../viewer/Saved.ts"
import { group, savedRuns } from "../../viewer/SavedRollouts.ts"

const call = { id: "call_1", type: "function", function: { name: "search", arguments: '{"query":"Lyon"}' } }
const asked = { role: "user", content: "How many live in Lyon?" }
const chat = (answer: string) => [
  asked,
  { role: "assistant", content: "Let me see.", tool_calls: [call] },
  { role: "tool", tool_call_id: "call_1", content: "522250" },
  { role: "assistant", content: answer },
  { role: "user", content: "Are you sure?" },
  { role: "assistant", content: "Yes." }
]

/** The second rollout waits half a second for a server, and holds up the group; nobody knows of the third one. */
const timed = group([chat("522,250"), chat("I think about half a million."), chat("Many.")], [1, 0.5, 0], {
  timings: [
    {
      turns: [
        [1000, 1000, 2000],
        [4000, 4000, 4500],
        [4600, 4600, 5000]
      ],
      calls: [{ from: 2500, to: 3250, title: "Search", kind: "fetch", status: "failed", text: "No such page" }],
      scored: [9000, 9250]
    },
    {
      turns: [
        [1000, 1500, 2500],
        [3000, 3000, 7500],
        [8500, 8500, 9000]
      ],
      scored: [9000, 9250]
    },
    null
  ]
})

const { runs, ...rest } = savedRuns()
const [kinds] = runs
const saved = {
  ...rest,
  runs: [{ ...kinds!, groups: { ...kinds!.groups, 1: timed } }]
}

const cells = (page: Page) =>
  page
    .locator(".waterfall-table tbody tr")
    .evaluateAll((rows) =>
      rows.map((row) =>
        [...row.querySelectorAll("th, td:not([aria-hidden])")].map(({ textContent }) => textContent.trim())
      )
    )

describe.skipIf(!Browser.isPresent)(`times of rollouts${Browser.absence}`, () => {
  const { open, save } = Browser.suite()
  let address: string | undefined
  const visit = (hash: string, options = {}) => open(`${(address ??= save("times", saved))}#${hash}`, options)

  it("shows by one key where the time of each rollout went, turn by turn, and who held up the group", async () => {
    const { errors, page, requests } = await visit("/groups/kinds/1")
    await page.waitForSelector(".rollout")
    await page.keyboard.press("w")
    await page.getByRole("heading", { name: "Rollout 1" }).waitFor()
    assert.include(await page.evaluate<string>("location.hash"), "view=times")
    const told = await page.locator(".waterfall p").allInnerTexts()
    assert.deepStrictEqual(told, [
      "9.25 s from start to scores. Others waited 4 s for rollout 2.",
      "9.25 s and 3 turns: 43% waiting for the group, 22% tools, 21% generating, 12% environment, 3% scoring."
    ])
    assert.deepStrictEqual(
      (await cells(page)).map((row) => row.slice(0, 7)),
      [
        ["setup", "0 s", "", "", "1 s", "", ""],
        ["turn 1", "1 s", "1 s", "2 s", "", "", ""],
        ["SearchNo such page", "2.5 s", "750 ms, fetch, failed"],
        ["turn 2", "4 s", "500 ms", "", "100 ms", "", ""],
        ["turn 3", "4.6 s", "400 ms", "", "", "", ""],
        ["scoring", "5 s", "", "", "", "4 s", "250 ms"]
      ]
    )
    assert.deepStrictEqual(await Browser.violations(page), [])
    await page.getByText("Search").click()
    assert.isTrue(await page.getByText("No such page").isVisible())
    await page.keyboard.press("j")
    await page.getByRole("heading", { name: "Rollout 2" }).waitFor()
    assert.deepStrictEqual((await cells(page))[1]?.slice(0, 5), ["turn 1", "1 s", "500 ms", "1 s", "500 ms"])
    await page.keyboard.press("j")
    await page.getByText("No timings recorded for this rollout.").waitFor()
    await page.getByRole("button", { name: "rollout 2", exact: true }).click()
    await page.getByRole("heading", { name: "Rollout 2" }).waitFor()
    await page.keyboard.press("w")
    await page.waitForSelector(".rollout.is-current")
    assert.deepStrictEqual([requests, errors], [[], []])
  })

  it("saves the lanes of the group and the turns of a rollout, as figures and as they are drawn", async () => {
    const { errors, page } = await visit("/groups/kinds/1?view=times&rollout=1")
    await page.getByRole("heading", { name: "Rollout 2" }).waitFor()
    const lanes = Saved.rows(await Saved.by(page, "JSONL of times of group 1"))
    assert.deepStrictEqual(
      lanes.map((row) => [row["rollout"], row["answered"], row["generating"], row["waiting for a server"]]),
      [
        [1, 5, 1.9, 0],
        [2, 9, 6, 0.5]
      ]
    )
    const turns = Saved.lines(await Saved.by(page, "CSV of times of rollout 2 of group 1"))
    assert.include(turns[0], "part,start,waiting for a server,generating,tools")
    assert.include(turns[2], "turn 1,1,0.5,1,0.5")
    const png = await Saved.by(page, "PNG of times of group 1")
    for (const kind of ["generating", "tools", "group"]) {
      assert.isAbove(await Saved.pixelsLike(page, png, `.waterfall-bars .time-${kind}`), 1000, kind)
    }
    assert.deepStrictEqual(errors, [])
  })

  it("offers no times where nobody wrote them down, and says so to whoever asks", async () => {
    const { page } = await visit("/groups/kinds/2")
    await page.waitForSelector(".rollout")
    assert.strictEqual(await page.getByRole("button", { name: "Times" }).count(), 0)
    await page.keyboard.press("w")
    await page.getByText("No timings recorded").waitFor()
  })

  it("fits a phone, and is readable in the dark", async () => {
    for (const options of [{ viewport: { width: 390, height: 800 } }, { colorScheme: "dark" }]) {
      const { page } = await visit("/groups/kinds/1?view=times&rollout=1", options)
      await page.getByRole("heading", { name: "Rollout 2" }).waitFor()
      assert.isTrue(await page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))
      assert.deepStrictEqual(await Browser.violations(page), [])
    }
  })
})
