/** Pages that `process` and `view --out` write, opened from the disk in a browser that has no network. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import * as InProcess from "../InProcess.ts"
import * as Browser from "./Browser.ts"

const groups = 100

/** The folder of pages that were written as a user writes them. */
class Written extends Context.Service<Written, string>()("@atropos/cli/test/viewer/Written") {}

const atropos = Effect.fnUntraced(function* (words: ReadonlyArray<string>) {
  const { code, stderr, stdout } = yield* InProcess.run(words)
  assert.strictEqual(code, 0, `${words.join(" ")}: ${stdout}${stderr}`)
})

const process = (environment: string, count: number) =>
  atropos(
    `process --testing --env ${environment} --env.total_steps ${count} --env.data_path_to_save_groups ${environment}.jsonl`.split(
      " "
    )
  )

const layerWritten = Layer.effect(
  Written,
  Effect.gen(function* () {
    const cwd = yield* InProcess.folder
    yield* Effect.all([process("arithmetic-stories", groups), process("scenes", 3)])
    yield* atropos(["view", "arithmetic-stories.jsonl", "scenes.jsonl", "--out", "both.html", "--title", "Two"])
    const lines = Array.from({ length: 30 }, (_, at) => {
      const broken = { "train/skipped": Number(at === 20), "train/skipped_not_finite": Number(at === 20) }
      const scores = { "reward/mean": at === 20 ? "NaN" : at / 30, "reward/<img src=x>": 1 }
      const figures = { ...scores, ...broken, "train/step_time": 2 }
      return `${JSON.stringify({ step: at + 1, policy_version: at, batch: String(at), ...figures })}\n`
    })
    writeFileSync(join(cwd, "metrics.jsonl"), `${lines.join("")}no line of it\n`)
    writeFileSync(
      join(cwd, "scenes.metrics.jsonl"),
      `{"step":1,"train/scores_mean":0.5}\n{"step":2,"train/scores_mean":1}\n`
    )
    yield* atropos(
      "view scenes.jsonl --metrics metrics.jsonl --metrics scenes.metrics.jsonl --out curves.html".split(" ")
    )
    return cwd
  })
).pipe(Layer.provide(NodeServices.layer))

describe.skipIf(!Browser.isPresent)(`saved pages without a network${Browser.absence}`, () => {
  const { open } = Browser.suite()

  it.layer(layerWritten, { excludeTestServices: true })("in a browser", (it) => {
    const seen = (name: string, file: string, look: (opened: Browser.Opened) => Promise<void>) =>
      it.effect(name, () =>
        Effect.gen(function* () {
          const path = join(yield* Written, file)
          assert.isBelow(statSync(path).size, 5_000_000)
          const opened = yield* Effect.promise(() => open(pathToFileURL(path).href, { offline: true }))
          yield* Effect.promise(() => look(opened))
          assert.deepStrictEqual([opened.requests, opened.errors], [[], []])
        })
      )

    seen("show the groups of process, in one file of less than 5 MB for 100", "arithmetic-stories.html", async (it) => {
      const { page } = it
      await page.locator(".row-link").first().waitFor()
      assert.strictEqual(await page.locator(".groups-count").innerText(), String(groups))
      assert.isFalse(await page.getByRole("link", { name: "Service" }).isVisible())
      await page.getByRole("searchbox").fill("liam cards")
      await Browser.holds(
        async () => /^[1-9]\d? match$/.test(await page.locator(".groups-count").innerText()),
        "fewer groups than all"
      )
      await page.locator(".row-link").first().click()
      await page.locator(".rollout").first().waitFor()
      assert.match(await page.locator(".group").innerText(), /Liam has \d+ cards/)
    })

    seen("have the curves of a run beside its groups, where its metrics are given", "curves.html", async (it) => {
      const { page } = it
      const reward = page.getByRole("figure", { name: "Reward", exact: true })
      await reward.locator("canvas").waitFor()
      assert.include(await reward.innerText(), "NaN at step 21")
      // Groups of files have no steps, so nothing leads to those of one.
      assert.include(await page.locator(".health").innerText(), "NaN or infinite loss")
      assert.strictEqual(await page.getByRole("link", { name: /step 21/ }).count(), 0)
      await reward.locator(".u-over").click()
      await reward.press("ArrowRight")
      await reward.press("Enter")
      assert.isTrue(await reward.isVisible())
      assert.notInclude(page.url(), "groups")
      assert.match(await page.locator(".tiles").innerText(), /1 min\s+in 30 steps/)
      assert.notInclude(await page.locator("body").innerText(), "policy_version")
      await page.getByRole("searchbox", { name: "Search metrics" }).fill("scores_mean")
      await page.getByRole("figure", { name: "train/scores_mean" }).waitFor()
      assert.isFalse(await page.evaluate("document.images.length > 0"))
      assert.deepStrictEqual(await Browser.violations(page), [])
      await page.getByRole("link", { name: "Groups", exact: true }).click()
      await page.locator(".row-link").first().waitFor()
      assert.strictEqual(await page.locator(".groups-count").innerText(), "3")
    })

    seen("carry the licences of the libraries they are made of, which help shows", "both.html", async ({ page }) => {
      await page.locator(".row-link").first().waitFor()
      await page.keyboard.press("?")
      await page.getByText("Licences of bundled libraries").click()
      const notices = await page.locator(".help pre").innerText()
      for (const name of ["react", "react-dom", "katex", "uplot", "highlight.js", "dompurify", "marked"]) {
        assert.match(notices, new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(`, "m"))
      }
      assert.include(notices, "Copyright (c) Meta Platforms")
      assert.match(notices, /Permission is hereby granted, free of charge/)
      assert.deepStrictEqual(await Browser.violations(page), [])
    })

    seen("show several files as runs, and their pictures", "both.html", async ({ page }) => {
      await page.getByRole("combobox", { name: "Run", exact: true }).selectOption("scenes")
      await page.locator(".row-link").first().waitFor()
      assert.strictEqual(await page.locator(".groups-count").innerText(), "3")
      await page.locator(".row-link").first().click()
      await page.locator(".picture img").first().waitFor()
      const widths = await page
        .locator(".picture img")
        .evaluateAll((images) => images.map((image) => "naturalWidth" in image && Number(image.naturalWidth) > 0))
      assert.notInclude(widths, false)
      assert.deepStrictEqual(await Browser.violations(page), [])
    })
  })
})
