import { assert, describe, it } from "@effect/vitest"
import type { Page } from "playwright-core"
import * as Browser from "./Browser.ts"
import { mathGroup, savedRuns } from "./SavedRollouts.ts"

const rowIds = (page: Page) => page.locator(".group-rows .row-link").allTextContents()
const scores = (page: Page) =>
  page
    .locator(".rollout-head h2")
    .allInnerTexts()
    .then((texts) => texts.map((text) => text.replaceAll(/\s+/g, " ")))
const focused = (page: Page) => page.evaluate<string>("document.activeElement.textContent")
const hash = (page: Page) => page.evaluate<string>("location.hash")
const tokenOf = async (page: Page) => new URLSearchParams((await hash(page)).split("?")[1]).get("token")
const fact = (page: Page, name: string) =>
  page
    .locator(".inspector dl > div", { has: page.getByText(name, { exact: true }) })
    .locator("dd")
    .innerText()

describe.skipIf(!Browser.isPresent)(`groups of a saved page${Browser.absence}`, () => {
  const { open, save } = Browser.suite()
  let saved: string | undefined
  const visit = (address: string, options = {}) => open(`${(saved ??= save("kinds", savedRuns()))}#${address}`, options)

  it("lists them newest first, and filters by environment, step, score and words", async () => {
    const { errors, page, requests } = await visit("/groups")
    await page.waitForSelector(".row-link")
    assert.deepStrictEqual(await rowIds(page), ["6", "5", "4", "3", "2", "1"])

    await page.getByLabel("Environment").selectOption("math")
    await Browser.becomes(() => rowIds(page), ["1"])
    assert.include(await hash(page), "environment=math")
    await page.getByRole("button", { name: "Clear" }).click()

    await page.getByLabel("Step from").fill("2")
    await page.getByLabel("Step to").fill("4")
    await page.getByLabel("Mean score to").fill("0.5")
    await Browser.becomes(() => rowIds(page), ["4", "3"])

    await page.goBack().catch(() => null)
    await page.goto(`${saved}#/groups?text=${encodeURIComponent('lyon "how many"')}`)
    await Browser.becomes(() => rowIds(page), ["2"])
    assert.strictEqual(await page.getByRole("searchbox").inputValue(), 'lyon "how many"')

    await page.getByRole("searchbox").fill("zebra")
    await page.getByText("No matching groups").waitFor()
    await page.getByRole("button", { name: "Clear filters" }).click()
    await Browser.becomes(() => page.locator(".row-link").count(), 6)
    assert.deepStrictEqual([requests, errors], [[], []])
  })

  it("takes filters among the words of the search, and hides columns without differences until they are chosen", async () => {
    const { page } = await visit("/groups")
    const heads = () => page.getByRole("columnheader").allInnerTexts()
    await page.waitForSelector(".row-link")
    assert.include(await heads(), "Environment")
    await page.getByRole("searchbox").fill("step>=2 step<5 score<=0.5")
    await Browser.becomes(() => rowIds(page), ["4", "3"])
    await page.getByRole("searchbox").fill("env:math")
    await Browser.becomes(() => rowIds(page), ["1"])
    await page.getByRole("searchbox").fill("score<odd")
    await page.getByRole("alert").getByText("score<odd: expected a number").waitFor()
    await page.getByRole("searchbox").fill("")
    await Browser.becomes(() => page.locator(".row-link").count(), 6)
    await page.getByText("Columns", { exact: true }).click()
    await page.getByRole("checkbox", { name: "Environment" }).uncheck()
    await Browser.becomes(async () => (await heads()).includes("Environment"), false)
    assert.deepStrictEqual(await Browser.violations(page), [])
    await page.reload()
    await page.waitForSelector(".row-link")
    assert.notInclude(await heads(), "Environment")
  })

  it("shows beside each score what it is made of", async () => {
    const { page } = await visit("/groups/kinds/1")
    await page.waitForSelector(".rollout")
    const facts = (await page.locator(".rollout-head").allInnerTexts()).map((text) => text.replaceAll(/\s+/g, " "))
    assert.match(facts[0]!, /correct 1 format 0/)
    assert.match(facts[1]!, /correct 0 format 0.5/)
    assert.notMatch(facts[0]!, /rewards/)
    // In the words of whoever scored it, and as words.
    assert.include(facts[0]!, "Divides <b>rightly</b>.")
  })

  it("goes by keyboard from the list to a group, its rollouts, its tokens, and back to the same row", async () => {
    const { page } = await visit("/groups")
    await page.waitForSelector(".row-link")
    await page.keyboard.press("/")
    assert.strictEqual(await page.evaluate("document.activeElement.type"), "search")
    await page.keyboard.press("Escape")
    for (const key of ["j", "ArrowDown", "j", "j", "j", "j", "j", "k", "j"]) await page.keyboard.press(key)
    await Browser.becomes(() => focused(page), "1")
    await page.keyboard.press("Enter")
    await page.waitForSelector(".rollout")
    await page.keyboard.press("j")
    await page.keyboard.press("ArrowRight")
    await page.waitForSelector(".rollout.is-current:nth-child(2)")
    assert.include(await hash(page), "/groups/kinds/1?rollout=2")
    await page.keyboard.press("o")
    await page.getByText("120 / 2.5", { exact: true }).waitFor()
    await page.keyboard.press("t")
    await page.waitForSelector(".token")
    assert.include(await hash(page), "view=tokens")
    await page.keyboard.press("?")
    await page.getByRole("dialog").getByText("next token").waitFor()
    await page.keyboard.press("Escape")
    await page.keyboard.press("t")
    await page.waitForSelector(".rollout")
    await page.keyboard.press("p")
    await page.getByRole("heading", { name: "Group 2" }).waitFor()
    await page.keyboard.press("n")
    await page.getByRole("heading", { name: "Group 1" }).waitFor()
    await page.keyboard.press("Escape")
    await Browser.becomes(() => focused(page), "1")
  })

  it("leaves keys to the controls that have the focus", async () => {
    const { page } = await visit("/groups")
    await page.waitForSelector(".row-link")
    await page.getByRole("link", { name: "Groups", exact: true }).focus()
    await page.keyboard.press("Enter")
    await Browser.becomes(() => hash(page), "#/groups?run=kinds")
    await page.goto(`${saved}#/groups/kinds/1`)
    await page.locator(".rollout pre").first().focus()
    await page.keyboard.press("ArrowRight")
    await page.getByText("Reasoning").last().focus()
    await page.keyboard.press("Enter")
    assert.strictEqual(await hash(page), "#/groups/kinds/1")
    await page.goto(`${saved}#/groups/%E0%A4%A/%`)
    await page.getByRole("heading", { name: "Not found" }).waitFor()
  })

  it("keeps few of ten thousand rows in the page, and reaches the last", async () => {
    const { page } = await visit("/groups?run=many")
    await page.waitForSelector(".row-link")
    assert.strictEqual(await page.locator(".groups-count").innerText(), "10,000")
    assert.strictEqual(await page.getByRole("table").getAttribute("aria-rowcount"), "10001")
    await page.evaluate("document.querySelector('.group-list').scrollTo(0, 1e9)")
    await page.waitForSelector('[data-row="9999"] .row-link')
    assert.strictEqual(await page.locator('[data-row="9999"] .row-link').innerText(), "1")
    assert.isBelow(await page.locator(".group-row").count(), 100)
  })

  it("shows rollouts side by side, best first, under the prompt they share", async () => {
    const { page } = await visit("/groups/kinds/1")
    await page.waitForSelector(".rollout")
    assert.deepStrictEqual(await scores(page), ["score 1", "score 0.5", "score 0 truncated"])
    assert.strictEqual(await page.getByText("Answer in a box.").count(), 1)
    const best = page.locator(".rollout").first()
    assert.include(await best.innerText(), "rollout 2\nadv +1.22")
    assert.strictEqual(await best.locator(".reasoning").getAttribute("open"), null)
    assert.strictEqual(await best.locator(".hljs-built_in").innerText(), "print")
    assert.isTrue(await best.locator("mfrac").isVisible())
    assert.isTrue(await page.getByText("<answer>48</answer>").isVisible())
    await page.getByRole("button", { name: "Raw text" }).click()
    assert.include(await best.innerText(), "$$T = \\frac{120}{2.5} = 48$$")
  })

  it("keeps an action that all rollouts began with out of the prompt, and shows settings that are objects", async () => {
    const { page } = await visit("/groups/episodes/1")
    await page.waitForSelector(".rollout")
    const prompt = await page.locator(".prompt").innerText()
    assert.include(prompt, "Leave the house.")
    assert.notInclude(prompt, "I look around.")
    for (const rollout of await page.locator(".rollout").allInnerTexts()) assert.include(rollout, "I look around.")
    assert.include(await page.locator(".rollout-facts").first().innerText(), 'limits {"turns":3,"tools":["door"]}')
    assert.include(await page.locator(".group-facts").innerText(), "rule unknown")
  })

  it("draws the scores of each group on a scale of its own where ranges differ", async () => {
    const { page } = await visit("/groups?run=episodes")
    await page.waitForSelector(".row-link")
    const strips = await page.locator(".score-strip title").allTextContents()
    assert.deepStrictEqual(strips, [
      "2 scores: 0.5, 0.25; bars from 0 to 0.5",
      "2 scores: 250, 100; bars from 0 to 250"
    ])
  })

  it("shows the question under a context that is cut, and all of the prompt when asked", async () => {
    const { page } = await visit("/groups/plain/1")
    const question = page.getByText("So which is it?")
    await question.waitFor()
    const [bottom, context] = await Promise.all([
      question.evaluate((element) => element.getBoundingClientRect().bottom),
      page.locator(".clamped.is-cut").evaluate((element) => element.getBoundingClientRect())
    ])
    assert.isBelow(context.height, 200)
    assert.isBelow(context.bottom, bottom)
    await page.getByRole("button", { name: "Show the whole prompt" }).click()
    assert.strictEqual(await page.locator(".clamped.is-cut").count(), 0)
    // Six short answers need no scrolling.
    assert.isTrue(await page.locator(".board").evaluate((board) => board.scrollWidth === board.clientWidth))
  })

  it("offers no page and no filter that has nothing to show", async () => {
    const { page } = await visit("/groups?run=plain")
    await page.waitForSelector(".row-link")
    assert.deepStrictEqual(await page.getByRole("navigation").getByRole("link").allInnerTexts(), ["Groups", "Hacking"])
    assert.deepStrictEqual(await page.getByRole("columnheader").allInnerTexts(), [
      "Group",
      "Scores",
      "Mean",
      "Prompt",
      "Tokens",
      "Received"
    ])
    assert.strictEqual(await page.getByLabel("Environment").count(), 0)
    assert.strictEqual(await page.getByLabel("Step from").count(), 0)
    assert.isTrue(await page.getByLabel("Mean score from").isVisible())
    await page.goto(`${saved}#/?run=plain`)
    await page.getByText("Saved groups have no metrics").waitFor()
  })

  it("lays out tool calls and their results", async () => {
    const { page } = await visit("/groups/kinds/2")
    await page.waitForSelector(".tool")
    const [call, result, written] = await page.locator(".tool").allInnerTexts()
    assert.match(call!, /calls\s+search\s+query\s+Lyon\s+limit\s+3/)
    assert.match(result!, /"population": 522250/)
    assert.match(written!, /calls\s+python\s+code\s+print\(1\)\nprint\(2\)/)
    assert.strictEqual(await page.locator(".role-tool .speaker").innerText(), "search")
  })

  it("shows pictures by their bytes, names the others, and loads nothing", async () => {
    const { page, requests } = await visit("/groups/kinds/3")
    await page.waitForSelector(".rollout")
    await page.getByText("picture: image/png, 3 B cannot be shown: corrupt data").waitFor()
    for (const text of [
      "picture: https://example.invalid/in-images.png (not loaded)",
      "picture: https://example.invalid/in-part.png (not loaded)",
      "remote: https://example.invalid/in-markdown.png (not loaded)",
      "no picture… (neither a data URL nor base64 of a picture)"
    ]) {
      assert.isAtLeast(await page.getByText(text).count(), 1, text)
    }
    const sizes = await page
      .locator(".picture img")
      .evaluateAll((images) => images.map((image) => "naturalWidth" in image && image.naturalWidth))
    // The picture of the question: it came with the first rollout once more.
    assert.deepStrictEqual(sizes, [5])
    assert.strictEqual(await page.locator(".prompt .picture img").count(), 1)
    assert.deepStrictEqual(requests, [])
  })

  it("shows every token with its exact values, by pointer, by keyboard and by a link", async () => {
    const { page } = await visit("/groups/kinds/1?rollout=2&view=tokens&token=30")
    await page.waitForSelector(".token")
    const ids = mathGroup.tokens[2]!
    assert.strictEqual(await fact(page, "Position"), `31 of ${ids.length}`)
    await page.keyboard.press("End")
    await Browser.becomes(() => tokenOf(page), String(ids.length - 1))
    assert.strictEqual(await fact(page, "Text"), '">"')
    assert.strictEqual(await fact(page, "ID"), String(ids.at(-1)))
    assert.strictEqual(await fact(page, "Mask"), "trained")
    assert.strictEqual(await fact(page, "Logprob"), String(-0.75 * (1 + ((ids.length - 1) % 8))))
    assert.strictEqual(await fact(page, "Policy"), "version 7")
    await page.keyboard.press("Home")
    await Browser.becomes(() => tokenOf(page), "0")
    assert.strictEqual(await fact(page, "Logprob"), "not sampled")
    await page.locator('.token[data-index="1"]').hover()
    assert.strictEqual(await fact(page, "Text"), '" in"')
    await page.locator('.token[data-index="2"]').click()
    await Browser.becomes(() => tokenOf(page), "2")
    assert.strictEqual(await page.locator('[aria-selected="true"]').innerText(), " a")
  })

  it("searches tokens, and goes where their curve is clicked", async () => {
    const { page } = await visit("/groups/kinds/1?rollout=2&view=tokens&token=0")
    await page.waitForSelector(".token")
    await page.keyboard.press("/")
    await page.keyboard.type("48")
    await page.keyboard.press("Enter")
    await Browser.holds(async () => Number(await tokenOf(page)) > 0, "the token that says 48")
    assert.include(await page.locator('.token[aria-selected="true"]').innerText(), "48")
    assert.strictEqual(await page.locator(".token-search [role=status]").innerText(), "1 of 1")
    const found = await tokenOf(page)
    await page.locator(".sparkline").click({ position: { x: 4, y: 4 } })
    await Browser.holds(async () => (await tokenOf(page)) !== found, "a token at the beginning")
    assert.deepStrictEqual(await Browser.violations(page), [])
  })

  it("opens at the first trained token, and goes on to those that were unlikely", async () => {
    const { page } = await visit("/groups/kinds/1?rollout=2&view=tokens")
    await page.waitForSelector(".token")
    const trained = mathGroup.masks[2]!.findIndex((label) => label !== -100)
    assert.match(await fact(page, "Position"), new RegExp(`^${trained + 1} of`))
    const unlikely = mathGroup.inference_logprobs[2]!.flatMap((logprob, at) =>
      at > trained && logprob < Math.log(1 / 20) ? [at] : []
    )
    await page.keyboard.press("x")
    await Browser.becomes(() => tokenOf(page), String(unlikely[0]))
    await page.keyboard.press("x")
    await Browser.becomes(() => tokenOf(page), String(unlikely[1]))
    await page.keyboard.press("Shift+X")
    await Browser.becomes(() => tokenOf(page), String(unlikely[0]))
  })

  it("colours by what trainer and sampler differ, goes to great differences, and says what was not recorded", async () => {
    const [run] = savedRuns().runs
    const sampled = mathGroup.inference_logprobs[2]!
    const first = mathGroup.masks[2]!.findIndex((label) => label !== -100)
    const great = [first + 2, first + 4]
    // The last token is not recorded.
    const trained = sampled.map((logprob, at) =>
      logprob > 0 || at === sampled.length - 1 ? 1 : logprob + (great.includes(at) ? 0.5 * (at - first - 3) : 0.03125)
    )
    const group = { ...mathGroup, trainer_logprobs: [null, null, trained], trainer_version: 9 }
    const file = save("trained", { title: "Trained", runs: [{ ...run, groups: { ...run!.groups, 1: group } }] })
    const { errors, page } = await open(`${file}#/groups/kinds/1?rollout=2&view=tokens`)
    await page.waitForSelector(".token")
    const none = page.getByRole("option", { name: "Trainer − sampler", exact: true })
    assert.strictEqual(await none.count(), 1)
    await page.getByLabel("Colour").selectOption("trainer")
    assert.match(
      await page.locator(".legend").innerText(),
      /−0\.5 nats: less likely to the trainer\s+\+0\.5: more likely/
    )
    assert.strictEqual(await fact(page, "Trainer logprob"), String(trained[first]))
    assert.strictEqual(await fact(page, "Trainer − sampler"), "0.03125 nats")
    assert.strictEqual(await fact(page, "Trainer"), "version 9")
    await page.locator(".token-grid").focus()
    for (const [key, at] of [
      ["x", great[0]],
      ["x", great[1]],
      ["Shift+X", great[0]]
    ] as const) {
      await page.keyboard.press(key)
      await Browser.becomes(() => tokenOf(page), String(at))
    }
    assert.strictEqual(await fact(page, "Trainer − sampler"), "-0.5 nats")
    await page.keyboard.press("?")
    await page.getByRole("dialog").getByText("next token with a large difference (0.25 nats)").waitFor()
    await page.keyboard.press("Escape")
    await page.keyboard.press("End")
    await Browser.becomes(() => fact(page, "Trainer logprob"), "not recorded")
    assert.deepStrictEqual(await Browser.violations(page), [])
    await page.goto(`${file}#/groups/kinds/1?rollout=1&view=tokens`)
    await page.getByRole("option", { name: "Trainer − sampler (not recorded)" }).waitFor({ state: "attached" })
    assert.deepStrictEqual(errors, [])
  })

  it("draws only the tokens in view of a long sequence", async () => {
    const { page } = await visit("/groups/kinds/6?view=tokens")
    await page.waitForSelector(".token")
    assert.isBelow(await page.locator(".token").count(), 2000)
    await page.keyboard.press("End")
    await page.getByRole("option", { name: "5999" }).waitFor()
    assert.isBelow(await page.locator(".token").count(), 2000)
  })

  it("copies a group as JSON", async () => {
    const { page } = await visit("/groups/kinds/1", { permissions: ["clipboard-read", "clipboard-write"] })
    await page.getByRole("button", { name: "Copy JSON" }).click()
    await page.getByText("Copied", { exact: true }).waitFor()
    assert.deepStrictEqual(JSON.parse(await page.evaluate<string>("navigator.clipboard.readText()")), mathGroup)
    await page.keyboard.press("c")
    await page.getByText("Rollout copied").waitFor()
    const rollout = JSON.parse(await page.evaluate<string>("navigator.clipboard.readText()")) as {
      readonly scores: unknown
    }
    assert.deepStrictEqual(rollout.scores, [1])
  })

  it("lets content that means harm do nothing: in messages, as written, in tokens", async () => {
    const { errors, page, requests } = await visit("/groups/kinds/4")
    await page.waitForSelector(".rollout")
    await page.keyboard.press("o")
    for (const link of await page.locator(".rollout a[href]").all()) {
      assert.match((await link.getAttribute("href")) ?? "", /^(?:https?:|mailto:|#\/groups\/kinds\/4)/)
    }
    assert.strictEqual(
      await page
        .locator(
          ".board :is(script, iframe, form, style, base, meta, object, embed, [style*=fixed], [onerror], [onload])"
        )
        .count(),
      0
    )
    await page.keyboard.press("s")
    await page.keyboard.press("t")
    await page.waitForSelector(".token")
    assert.isUndefined(await page.evaluate("window.harm"))
    assert.strictEqual(await page.evaluate("document.title"), "Group 4 · kinds · Saved rollouts · Atropos")
    assert.include(await hash(page), "/groups/kinds/4")
    assert.deepStrictEqual([requests, errors], [[], []])
  })

  it("runs no script but its own, even one that got into the page", async () => {
    const { page, requests } = await visit("/groups")
    await page.waitForSelector(".row-link")
    await page.evaluate(`{
      const holder = document.createElement("div")
      holder.innerHTML = '<img src="data:," onerror="window.harm = 1"><a href="javascript:window.harm=2">x</a>'
      const script = document.createElement("script")
      script.textContent = "window.harm = 3"
      const remote = document.createElement("img")
      remote.src = "https://example.invalid/x.png"
      document.body.append(holder, script, remote)
      holder.querySelector("a").click()
    }`)
    await page.evaluate("fetch('https://example.invalid/').catch(() => {})")
    assert.isUndefined(await page.evaluate("window.harm"))
    assert.deepStrictEqual(requests, [])
  })

  it("stays at work over texts that are long or nothing but marks", async () => {
    const { page } = await visit("/groups/kinds/5")
    await page.waitForSelector(".rollout")
    await page.getByRole("button", { name: "Show more of 1,984,000 characters" }).click()
    await page.getByRole("button", { name: "Show more of 1,920,000 characters" }).waitFor()
    // Without an end to what is parsed there are a million of them, and the page is at work for minutes.
    assert.isBelow(await page.evaluate<number>("document.querySelectorAll('*').length"), 20_000)
  })

  it("has no serious fault of accessibility", async () => {
    const { page } = await visit("/groups")
    await page.waitForSelector(".row-link")
    assert.deepStrictEqual(await Browser.violations(page), [])
    for (const address of [
      "/groups?text=nothing-like-it",
      "/groups/kinds/1?rollout=1",
      "/groups/kinds/2",
      "/groups/kinds/3",
      "/groups/kinds/4",
      "/groups/kinds/1?rollout=1&view=tokens&token=30",
      "/groups/kinds/99"
    ]) {
      await page.goto(`${saved}#${address}`)
      await page.waitForSelector(".rollout .message, .token, .note")
      assert.deepStrictEqual(await Browser.violations(page), [], address)
    }
    await page.keyboard.press("?")
    await page.getByRole("dialog").waitFor()
    assert.deepStrictEqual(await Browser.violations(page), [])
  })

  for (const colorScheme of ["light", "dark"] as const) {
    it(`can be read in all its colours (${colorScheme})`, async () => {
      const { page } = await visit("/groups", { colorScheme })
      await page.waitForSelector(".row-link")
      assert.deepStrictEqual(await Browser.violations(page, ["color-contrast"]), [])
      await page.goto(`${saved}#/groups/kinds/1?rollout=1`)
      await page.waitForSelector(".rollout .message")
      assert.deepStrictEqual(await Browser.violations(page, ["color-contrast"]), [])
      await page.keyboard.press("t")
      for (const colouring of ["logprob", "advantage", "reference", "mask"]) {
        await page.getByLabel("Colour").selectOption(colouring)
        assert.deepStrictEqual(await Browser.violations(page, ["color-contrast"]), [], colouring)
      }
    })
  }

  it("has no serious fault of accessibility on a phone, where nothing but tables and boards is wider than the screen", async () => {
    const { page } = await visit("/groups", { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true })
    await page.waitForSelector(".row-link")
    for (const address of ["/groups", "/groups/kinds/1?rollout=1", "/groups/kinds/1?rollout=1&view=tokens"]) {
      await page.goto(`${saved}#${address}`)
      await page.waitForSelector(".row-link, .rollout .message, .token")
      assert.deepStrictEqual(await Browser.violations(page), [], address)
      assert.strictEqual(await page.evaluate("document.documentElement.scrollWidth"), 390, address)
    }
  })
})
