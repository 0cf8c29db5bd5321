/**
 * The viewer in a real browser, started once per test file. Where there is none, suites skip themselves and say so.
 */
import axe from "axe-core"
import { Effect } from "effect"
import { execFileSync } from "node:child_process"
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { isDeepStrictEqual } from "node:util"
import { gzipSync } from "node:zlib"
import type { Browser, BrowserContextOptions, Page } from "playwright-core"
import { afterAll, beforeAll } from "vitest"
import * as Waits from "../../../core/test/base/Waits.ts"
import { executablePath, isPresent, launch } from "./Chromium.ts"

/** What a suite's name ends in: why it does not run. */
export const absence = isPresent ? "" : ` (skipped: no chromium at ${executablePath})`

export { isPresent } from "./Chromium.ts"

const root = fileURLToPath(new URL("../../../../", import.meta.url))
const built = join(root, "packages/api/dist/viewer/index.html")

/** The viewer's one file, built anew where its sources are newer. */
const page = (): string => {
  const sources = globSync("packages/api/viewer/**/*.{ts,tsx,css,html}", { cwd: root }).map((path) => join(root, path))
  const newest = Math.max(...sources.map((path) => statSync(path).mtimeMs))
  if (!existsSync(built) || statSync(built).mtimeMs < newest) {
    execFileSync(
      process.execPath,
      ["node_modules/vite/bin/vite.js", "build", "--logLevel", "error", "packages/api/viewer"],
      {
        cwd: root
      }
    )
  }
  return readFileSync(built, "utf8")
}

export interface Opened {
  readonly page: Page
  /** Addresses that were asked for, other than the page itself and what it carries. */
  readonly requests: ReadonlyArray<string>
  /** Mistakes of the page, told by the browser. */
  readonly errors: ReadonlyArray<string>
}

/** A browser for a suite, and a folder for the pages it opens. */
export const suite = () => {
  let browser: Browser | undefined
  let folder = ""
  beforeAll(async () => {
    if (!isPresent) return
    folder = mkdtempSync(join(tmpdir(), "atropos-viewer-"))
    browser = await launch()
  })
  afterAll(async () => {
    await browser?.close()
    if (folder !== "") rmSync(folder, { recursive: true, force: true })
  })

  /** Opens an address in a tab with a profile of its own. */
  const open = async (url: string, options: BrowserContextOptions = {}): Promise<Opened> => {
    if (browser === undefined) throw new Error("the browser has not started")
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options })
    context.setDefaultTimeout(0)
    const page = await context.newPage()
    const requests: Array<string> = []
    const errors: Array<string> = []
    page.on("request", (request) => {
      if (!/^(?:file|data|blob):/.test(request.url())) requests.push(request.url())
    })
    // What the page's policy stops never leaves the browser.
    page.on("requestfailed", (request) => {
      if (request.failure()?.errorText === "csp") requests.splice(requests.indexOf(request.url()), 1)
    })
    page.on("pageerror", (error) => errors.push(error.message))
    await page.goto(url)
    return { page, requests, errors }
  }

  /** Writes a page that carries rollouts, and says where it lies. */
  const save = (name: string, data: unknown): string => {
    const empty = '<script id="atropos-data" type="application/octet-stream"></script>'
    const html = page()
    if (!html.includes(empty)) throw new Error("the viewer has no place for data")
    const carried = gzipSync(JSON.stringify(data)).toString("base64")
    const path = join(folder, `${name}.html`)
    writeFileSync(
      path,
      html.replace(empty, () => empty.replace("></", () => `>${carried}</`))
    )
    return `file://${path}`
  }

  return { open, save }
}

/** A reader who chose to see all columns of the list of groups, also those without differences. */
export const withAllColumns = (url: string): BrowserContextOptions => {
  const choices = { step: true, environment: true, tokens: true, state: true }
  const localStorage = [{ name: "atropos-group-columns", value: JSON.stringify(choices) }]
  return { storageState: { cookies: [], origins: [{ origin: new URL(url).origin, localStorage }] } }
}

/** The answer; the error if a page that is being drawn cannot give one yet. */
const attempt = <A>(ask: () => Promise<A>): Effect.Effect<A | Error> =>
  Effect.promise(() =>
    ask().catch((error: unknown) => {
      if (error instanceof Error && !error.message.includes("has been closed")) return error
      throw error
    })
  )

/** Asks until the answer is the expected one. */
export const becomes = async <A>(ask: () => Promise<A>, expected: A): Promise<void> => {
  const isExpected = (answer: A | Error) => isDeepStrictEqual(answer, expected)
  await Effect.runPromise(Waits.until(JSON.stringify(expected), attempt(ask), isExpected))
}

/** Asks until the answer is true. */
export const holds = async (ask: () => Promise<boolean>, what: string): Promise<void> => {
  await Effect.runPromise(Waits.until(what, attempt(ask), (answer) => answer === true))
}

/**
 * Acts until the page is at an address: what is drawn anew in between misses a click, and forgets its crosshair. `act`
 * gets how long to wait for what it acts on, which is gone once the page has moved on.
 */
export const moves = (
  page: Page,
  address: RegExp,
  act: (options: { readonly timeout: number }) => Promise<unknown>
): Promise<void> =>
  holds(async () => {
    if (address.test(page.url())) return true
    await act({ timeout: 5000 })
    return false
  }, `the address ${address}`)

/** axe-core's rules that say something else where colours are others. */
export const rulesOfColours = ["color-contrast", "link-in-text-block"]

/** What axe-core finds of serious and critical violations, in words: of all rules, or of those that are named. */
export const violations = async (page: Page, rules?: ReadonlyArray<string>): Promise<ReadonlyArray<string>> => {
  // What appears gently is judged as it is once it is there. What turns for ever has no end, and nobody waits for one.
  await page.evaluate(`for (const animation of document.getAnimations()) {
    if (Number.isFinite(animation.effect.getComputedTiming().endTime)) animation.finish()
  }`)
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(axe.source)
  const options = {
    resultTypes: ["violations"],
    ...(rules !== undefined && { runOnly: { type: "rule", values: rules } })
  }
  const { violations } = await page.evaluate<axe.AxeResults>(`axe.run(${JSON.stringify(options)})`)
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) =>
      nodes.map(({ failureSummary, html }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`)
    )
}
