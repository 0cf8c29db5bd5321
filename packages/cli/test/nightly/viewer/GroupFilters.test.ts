/** Presets, orders and the fields of the groups' list, over three groups of a service. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { HttpServer } from "effect/http"
import type { Page } from "playwright-core"
import * as Browser from "../../viewer/Browser.ts"
import * as OpenService from "../../viewer/OpenService.ts"
import * as Registrations from "../../viewer/Registrations.ts"

interface Sent {
  readonly item: string
  readonly scores: ReadonlyArray<number>
  /** Trained tokens of each answer. */
  readonly length: number
  readonly logprob: number
  /** Steps of the policy that sampled it. */
  readonly policy: number
}

/** The first is of step 1, the second of step 2, and the third waits. */
const sent: ReadonlyArray<Sent> = [
  { item: "a", scores: [0, 0, 1], length: 2, logprob: -1, policy: 0 },
  { item: "b", scores: [0.2, 0.5, 0.5], length: 6, logprob: -7, policy: 0 },
  { item: "c", scores: [0, 0, 0], length: 4, logprob: -1, policy: 1 }
]

const bodyOf = ({ item, length, logprob, policy, scores }: Sent) => {
  const rows = <A>(row: () => A): ReadonlyArray<A> => scores.map(row)
  return {
    key: crypto.randomUUID(),
    item_id: item,
    policy_versions: rows(() => policy),
    group: {
      tokens: rows(() => Array.from({ length: length + 1 }, () => 5)),
      masks: rows(() => [-100, ...Array.from({ length }, () => 5)]),
      scores,
      inference_logprobs: rows(() => [1, ...Array.from({ length }, () => logprob)]),
      messages: scores.map((score) => [
        { role: "user", content: `What is ${item}?` },
        { role: "assistant", content: `It is ${score}.` }
      ]),
      env_id: 0
    }
  }
}

const claim = { owner: "t", wait_seconds: 0, lease_seconds: 600 }

const fill = async (url: string) => {
  await OpenService.post(url, "", Registrations.run("mixed", 3))
  await OpenService.post(url, "/mixed/batches/claim", claim)
  await OpenService.post(url, "/mixed/environments", Registrations.environment)
  for (const [at, one] of sent.entries()) {
    await OpenService.post(url, "/mixed/groups", bodyOf(one))
    if (at < 2) await OpenService.post(url, "/mixed/batches/claim", claim)
  }
  await Browser.holds(async () => {
    const page = (await (await fetch(`${url}/v1/runs/mixed/rollouts`)).json()) as { readonly unindexed: number }
    return page.unindexed === 0
  }, "groups that have been read")
}

const items = async (page: Page) => {
  const shown = await page.locator(".group-rows .cell-preview").allInnerTexts()
  return shown.map((text) => /What is (.)/.exec(text)?.[1]).join("")
}
const lists = (page: Page, expected: string) => Browser.becomes(() => items(page), expected)

const byPreset = async (page: Page, name: string, expected: string) => {
  const preset = page.getByRole("button", { name, exact: true })
  await preset.click()
  await lists(page, expected)
  assert.strictEqual(await preset.getAttribute("aria-pressed"), "true")
  await preset.click()
  await lists(page, "cba")
}

const byField = async (page: Page, label: string, value: string, expected: string, address: string) => {
  await page.getByLabel(label, { exact: true }).fill(value)
  await lists(page, expected)
  assert.include(await page.evaluate<string>("location.hash"), address)
  await page.reload()
  await lists(page, expected)
  assert.strictEqual(await page.getByLabel(label, { exact: true }).inputValue(), value)
  await page.getByRole("button", { name: "Clear" }).click()
  await lists(page, "cba")
}

describe.skipIf(!Browser.isPresent)(`filters of groups${Browser.absence}`, () => {
  const { open } = Browser.suite()

  it.layer(OpenService.layer, { excludeTestServices: true })("in a browser", (it) => {
    it.effect("find groups by presets, orders and fields, which the address keeps, on a phone too", () =>
      Effect.gen(function* () {
        const url = yield* HttpServer.addressFormattedWith(Effect.succeed)
        yield* Effect.promise(async () => {
          await fill(url)
          const { errors, page } = await open(`${url}/ui#/groups?run=mixed`)
          await lists(page, "cba")
          await byPreset(page, "Rewarded unlikely tokens", "ba")
          await byPreset(page, "Widest score range", "abc")
          const order = page.getByRole("combobox", { name: "Order" })
          for (const [by, expected] of [
            ["staleness", "bac"],
            ["state", "bac"],
            ["item", "cba"]
          ] as const) {
            await order.selectOption({ label: by })
            await lists(page, expected)
          }
          await page.getByRole("button", { name: "Highest first" }).click()
          await lists(page, "abc")
          await order.selectOption({ label: "newest first" })
          await page.getByRole("button", { name: "more filters" }).click()
          await byField(page, "Length from", "5", "b", "length_from=5")
          await page.getByRole("button", { name: "more filters" }).click()
          await byField(page, "Staleness from", "2", "b", "staleness_from=2")
          await page.getByRole("button", { name: "more filters" }).click()
          await byField(page, "Score range to", "0.5", "cb", "disagreement_to=0.5")
          await page.getByRole("button", { name: "more filters" }).click()
          await byField(page, "Score std dev from", "0.2", "a", "deviation_from=0.2")
          await page.getByRole("button", { name: "more filters" }).click()
          await byField(page, "Item", "b", "b", "item=b")
          assert.deepStrictEqual(errors, [])
          await page.context().close()

          const phone = await open(`${url}/ui#/groups?run=mixed&length_from=3&staleness_from=1`, {
            viewport: { width: 390, height: 844 },
            isMobile: true
          })
          await lists(phone.page, "b")
          await phone.page.getByRole("button", { name: /^Filters/ }).click()
          assert.strictEqual(await phone.page.getByLabel("Staleness from").inputValue(), "1")
          await phone.page.getByLabel("Length from").fill("")
          await lists(phone.page, "ba")
          assert.strictEqual(await phone.page.evaluate("document.documentElement.scrollWidth"), 390)
          assert.deepStrictEqual(await Browser.violations(phone.page), [])
          assert.deepStrictEqual(phone.errors, [])
        })
      })
    )
  })
})
