/** Evaluations: of a service, with ten thousand items, and in a page saved from files of samples. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Auth, Database, PgTrajectoryStore, TrajectoryService } from "@atropos/api"
import { TrajectoryClient, TrajectoryClientHttp, Uuid } from "@atropos/core"
import { Effect, Layer, Option } from "effect"
import { HttpServer } from "effect/http"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import type { Page } from "playwright-core"
import * as InProcess from "../InProcess.ts"
import * as Browser from "./Browser.ts"
import * as Saved from "./Saved.ts"

const harm = '<img src="https://example.invalid/x.png" onerror="window.harm = 1"><script>window.harm = 2</script>'

/** Right where the number is no multiple of seven; the second time where it is none of nine. */
const sample = (number: number, divisor: number) => {
  const isRight = number % divisor !== 0
  const said = number === 1 ? harm : isRight ? String(2 * number) : number % 2 === 0 ? null : String(number)
  return {
    item: number,
    label: number === 1 ? harm : `What is ${number} + ${number}?`,
    id: `sum-${number}`,
    category: number % 3 === 0 ? "threes" : "others",
    gold: [String(2 * number)],
    parsed: said,
    score: isRight ? 1 : 0,
    rewards: { correct: isRight ? 1 : 0 },
    correct: isRight,
    judge: isRight ? "It equals the gold answer." : `The judge read ${harm}`,
    finish_reason: "stop",
    tokens: 12,
    messages: [
      { role: "user", content: `What is ${number} + ${number}?` },
      { role: "assistant", content: said === null ? "I do not know." : `It is \\boxed{${said}}` }
    ]
  }
}

const items = 10_000
const record = (divisor: number, step: number) => ({
  key: Uuid.v4(),
  name: "sums",
  model: "tiny",
  step,
  seconds: 3,
  figures: { "eval/percent_correct": 1 - 1 / divisor, "eval/items": items },
  samples: Array.from({ length: items }, (_, number) => sample(number, divisor))
})

const layerTest = Layer.effectDiscard(
  Effect.gen(function* () {
    const url = yield* HttpServer.addressFormattedWith(Effect.succeed)
    yield* Effect.gen(function* () {
      const { recordEvaluation } = Option.getOrThrow(yield* (yield* TrajectoryClient.all).telemetry)
      yield* recordEvaluation(record(7, 0))
      yield* recordEvaluation(record(9, 40))
    }).pipe(Effect.provide(TrajectoryClientHttp.layer({ url, run: "adding" })))
  })
).pipe(
  Layer.provideMerge(
    TrajectoryService.serve({ host: "127.0.0.1", port: 0 }).pipe(
      Layer.provide(PgTrajectoryStore.layer.pipe(Layer.provide(Database.layerPglite()))),
      Layer.provide(Auth.layerOpen)
    )
  )
)

const multiples = (of: number): number => Math.ceil(items / of)
const count = (value: number) => value.toLocaleString("en-US")
const matching = (page: Page) => page.locator(".item-filter [role=status]").innerText()
const harmed = (page: Page) => page.evaluate("window.harm ?? null")

/** Unread answers are looked at, an item is opened by keyboard, and nothing that a model wrote does anything. */
const walkItems = async (page: Page) => {
  await page.locator(".item-row").first().waitFor()
  await page.getByRole("button", { name: "wrong", exact: true }).click()
  await page.keyboard.press("j")
  await page.locator(".sample-facts").waitFor()
  assert.include(await page.locator(".sample-view").innerText(), "The judge read")
  assert.include(await page.locator(".sample-view").innerText(), "unparsed")
  await page.keyboard.press("Escape")
  await page.getByRole("button", { name: "all", exact: true }).click()
  await page.getByRole("searchbox").fill("sum-1 img")
  await page.locator(".item-row").first().click()
  assert.isNull(await harmed(page))
}

describe.skipIf(!Browser.isPresent)(`evaluations of a service${Browser.absence}`, () => {
  const { open } = Browser.suite()

  it.layer(layerTest, { excludeTestServices: true })("in a browser", (it) => {
    const seen = (name: string, look: (page: Page) => Promise<void>, options = {}) =>
      it.effect(name, () =>
        Effect.gen(function* () {
          const url = yield* HttpServer.addressFormattedWith(Effect.succeed)
          const { errors, page } = yield* Effect.promise(() => open(`${url}/ui#/evaluations`, options))
          yield* Effect.promise(() => page.locator(".data-table").waitFor())
          yield* Effect.promise(() => look(page))
          assert.deepStrictEqual(errors, [])
          yield* Effect.promise(() => page.context().close())
        })
      )

    seen("lead from their list to what is fixed and broken between two, and to both answers", async (page) => {
      assert.deepStrictEqual(await Browser.violations(page), [])
      for (const step of [0, 40]) await page.getByLabel(`Compare sums, adding at step ${step}`).check()
      await page.keyboard.press("c")
      await page.locator(".item-row").first().waitFor()
      const both = Math.ceil(items / 63)
      const figures = await page.locator(".evaluation-figures").innerText()
      assert.include(figures, `Fixed\n${count(multiples(7) - both)}`)
      assert.include(figures, `Regressed\n${count(multiples(9) - both)}`)
      assert.match(figures, /\+3\.2 \+2\.2 to \+4\.1, p < 0\.0001/)
      assert.match(
        await page.locator(".evaluation-headline").innerText(),
        /^85\.7% → 88\.9%, \+3\.2 ± [01]\.\d points$/
      )
      await page.getByRole("button", { name: "regressed", exact: true }).click()
      await Browser.becomes(() => matching(page), `${count(multiples(9) - both)} of ${count(items)}`)
      const name = "sums, adding at step 0 and sums, adding at step 40"
      const broken = Saved.rows(await Saved.by(page, `JSONL of items of ${name}`))
      assert.lengthOf(broken, multiples(9) - both)
      const { answer_after, became, correct_after, correct_before, gold, item } = broken[0]!
      assert.deepStrictEqual(
        { answer_after, became, correct_after, correct_before, gold, item },
        { answer_after: "9", became: "broken", correct_after: 0, correct_before: 1, gold: "18", item: "sum-9" }
      )
      await page.getByText("2 categories").click()
      const [head, ...categories] = Saved.lines(await Saved.by(page, `CSV of categories of ${name}`))
      assert.strictEqual(head, "category,items,fixed,broken,before,after,difference,lower,upper,p")
      assert.deepStrictEqual(categories.map((row) => row.split(",").slice(0, 2).join()).toSorted(), [
        `others,${items - multiples(3)}`,
        `threes,${multiples(3)}`
      ])
      await page.getByText("2 categories").click()
      await page.keyboard.press("j")
      await Browser.becomes(() => page.locator(".sample-side .sample-facts").count(), 2)
      assert.include(page.url(), "show=broken")
      assert.include(await page.locator(".sample-sides").innerText(), "sums, adding at step 40")
      assert.deepStrictEqual(await Browser.violations(page), [])
    })

    seen("show ten thousand samples with gold, answer and judgement", async (page) => {
      await page.getByRole("link", { name: "sums" }).first().click()
      await Browser.becomes(() => matching(page), count(items))
      assert.isBelow(await page.locator(".item-row").count(), 60)
      const all = Saved.lines(await Saved.by(page, "CSV of items of sums, adding at step 40"))
      assert.strictEqual(all[0], "item,label,category,gold,correct,score,answer")
      assert.lengthOf(all, items + 1)
      await page.getByText("2 categories").click()
      const categories = Saved.lines(await Saved.by(page, "CSV of categories of sums, adding at step 40"))
      assert.match(categories[2]!, /^threes,3334,0\.\d+,0\.\d+,0\.\d+$/)
      await walkItems(page)
      assert.deepStrictEqual(await Browser.violations(page), [])
    })

    seen(
      "fit a phone",
      async (page) => {
        await page.getByRole("link", { name: "sums" }).first().click()
        await page.locator(".item-row").nth(1).click()
        await page.locator(".sample-facts").waitFor()
        assert.isFalse(await page.locator(".item-list").isVisible())
        assert.strictEqual(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0)
        assert.deepStrictEqual(await Browser.violations(page), [])
        await page.getByRole("button", { name: "Close" }).click()
        assert.isTrue(await page.locator(".item-list").isVisible())
      },
      { viewport: { width: 390, height: 800 }, colorScheme: "dark" }
    )
  })
})

describe.skipIf(!Browser.isPresent)(`evaluations in files${Browser.absence}`, () => {
  const { open } = Browser.suite()

  it.live("are in a saved page, compared without a network", () =>
    Effect.gen(function* () {
      const cwd = yield* InProcess.folder
      for (const [name, divisor] of [
        ["before", 7],
        ["after", 9]
      ] as const) {
        const lines = Array.from({ length: 60 }, (_, number) => JSON.stringify(sample(number, divisor)))
        writeFileSync(join(cwd, `${name}.jsonl`), `${lines.join("\n")}\n`)
      }
      const { code, stderr } = yield* InProcess.run(["view", "before.jsonl", "after.jsonl", "--out", "both.html"])
      assert.strictEqual(code, 0, stderr)
      const { errors, page, requests } = yield* Effect.promise(() =>
        open(pathToFileURL(join(cwd, "both.html")).href, { offline: true })
      )
      yield* Effect.promise(async () => {
        await page.getByRole("link", { name: "Evaluations" }).click()
        await page.locator(".data-table").waitFor()
        for (const name of ["before", "after"]) await page.getByLabel(`Compare ${name}, ${name}`).check()
        await page.getByRole("button", { name: "Compare selected" }).click()
        await page.locator(".item-row").first().waitFor()
        assert.include(await page.locator(".evaluation-figures").innerText(), "Fixed\n8")
        await page.goBack()
        await page.getByRole("link", { name: "before" }).click()
        await walkItems(page)
      })
      assert.deepStrictEqual([requests, errors], [[], []])
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
