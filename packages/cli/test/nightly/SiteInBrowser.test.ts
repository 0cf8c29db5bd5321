/** The documentation site as readers see it: by day, by night, on a phone, from the keyboard, without a network. */
import { assert, describe, it } from "@effect/vitest"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { afterAll, beforeAll } from "vitest"
import * as Site from "../../../../scripts/internal/Site.ts"
import * as Browser from "../viewer/Browser.ts"

const root = fileURLToPath(new URL("../../../../", import.meta.url))

/** Pages with code, with wide tables, with pictures, with long lists; and a source. */
const looked = ["index", "docs/training", "docs/metrics", "docs/viewer", "docs/commands", "examples/01-letters.ts"]

/** How wide what a page holds is beyond its window, in pixels. */
const overhang = "document.documentElement.scrollWidth - document.documentElement.clientWidth"

describe.skipIf(!Browser.isPresent)(`the documentation site in a browser${Browser.absence}`, () => {
  const { open } = Browser.suite()
  let out = ""
  beforeAll(() => {
    out = mkdtempSync(join(tmpdir(), "atropos-site-"))
    Site.build(root, out)
  })
  afterAll(() => rmSync(out, { recursive: true }))
  const at = (page: string): string => pathToFileURL(join(out, `${page}.html`)).href

  it("is wide enough on a phone, and accessible there, by day and by night", async () => {
    const windows = [
      { colorScheme: "light" },
      { colorScheme: "dark" },
      { viewport: { width: 390, height: 844 }, isMobile: true }
    ] as const
    for (const options of windows) {
      const { errors, page, requests } = await open(at("index"), { offline: true, ...options })
      for (const name of options === windows[0] ? looked : looked.slice(0, 3)) {
        await page.goto(at(name))
        assert.deepStrictEqual(await Browser.violations(page), [], name)
        assert.isAtMost(await page.evaluate<number>(overhang), 0, name)
      }
      assert.deepStrictEqual([errors, requests], [[], []])
      await page.context().close()
    }
  })

  it("begins with the text on a phone, and folds its pages out there", async () => {
    const { page } = await open(at("docs/training"), { viewport: { width: 390, height: 844 }, isMobile: true })
    const link = page.getByRole("link", { name: "Losses", exact: true })
    assert.isBelow((await page.getByRole("heading", { level: 1 }).boundingBox())?.y ?? Infinity, 400)
    assert.isFalse(await link.isVisible())
    await page.getByText("All pages").click()
    await link.click()
    await page.waitForURL(/losses\.html$/)
    await page.context().close()
  })

  it("keeps the theme that the reader chose, and copies code", async () => {
    const { page } = await open(at("index"), {
      colorScheme: "light",
      permissions: ["clipboard-read", "clipboard-write"]
    })
    const back = () => page.evaluate<string>("getComputedStyle(document.body).backgroundColor")
    assert.strictEqual(await back(), "rgb(255, 255, 255)")
    await page.getByLabel("Theme").selectOption("dark")
    await Browser.becomes(back, "rgb(18, 22, 29)")
    await page.goto(at("docs/training"))
    await Browser.becomes(back, "rgb(18, 22, 29)")
    const block = page.locator(".code").first()
    await block.hover()
    await block.getByRole("button", { name: "Copy" }).click()
    await block.getByRole("button", { name: /Copied|Copying is not allowed/ }).waitFor()
    await page.getByRole("link", { name: /→$/ }).click()
    await page.waitForURL(/results\.html$/)
    await page.context().close()
  })

  it("finds sections by their words, from the keyboard, and shows where one is", async () => {
    const { page } = await open(at("CHANGELOG"))
    await page.keyboard.press("/")
    await page.keyboard.type("million groups")
    await page.locator("#found").getByRole("link", { name: "A million groups" }).waitFor()
    await page.keyboard.press("Enter")
    await page.waitForURL(/docs\/operations\.html#a-million-groups$/)
    assert.strictEqual(await page.locator(".pages [aria-current]").innerText(), "Operations")
    await page.keyboard.press("/")
    await page.keyboard.type("zyzzyva")
    await page.getByText("nothing found").waitFor()
    const { width } = page.viewportSize() ?? { width: 0 }
    if (width < 1440) await page.getByText("On this page").click()
    await page.locator(".contents").getByRole("link").last().click()
    assert.notInclude(page.url(), "a-million-groups")
    await page.context().close()
  })
})
