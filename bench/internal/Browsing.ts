/**
 * Measures the viewer's latencies in chromium: from opening the address to the first rows, from a filter to the
 * matching rows (including the debounce before a search), and frame times while the list is scrolled.
 */
import * as Chromium from "../../packages/cli/test/viewer/Chromium.ts"

const repetitions = 5

/** Timeout in milliseconds. */
const longest = 20_000

const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN

const print = (what: string, millis: ReadonlyArray<number>): void =>
  console.log(
    `${what.padEnd(44)} ${median(millis).toFixed(0).padStart(6)} ms   worst ${Math.max(...millis)
      .toFixed(0)
      .padStart(6)} ms`
  )

/** Milliseconds in the page from a change of a field until its rows are shown. */
const filtered = (page: Chromium.Page, field: string, value: string): Promise<number> =>
  page.evaluate(`(async () => {
    const field = document.querySelector(${JSON.stringify(field)})
    const told = () => document.querySelector(".groups-count").textContent
    // None may be found; then a note says so.
    const isThere = () => /match/.test(told()) && document.querySelector(".is-stale, .loading") === null &&
      document.querySelector(".row-link, .note") !== null
    if (isThere()) throw new Error("a filter is in force already")
    const { set } = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), "value")
    const started = performance.now()
    set.call(field, ${JSON.stringify(value)})
    field.dispatchEvent(new Event(field.tagName === "SELECT" ? "change" : "input", { bubbles: true }))
    while (!isThere()) {
      if (performance.now() - started > ${longest}) throw new Error("no rows after ${longest} ms: " + told())
      await new Promise(requestAnimationFrame)
    }
    return performance.now() - started
  })()`)

/** Scrolls one screen about every tenth of a second, and returns the duration of each frame. */
const scrolled = (page: Chromium.Page): Promise<ReadonlyArray<number>> =>
  page.evaluate(`(async () => {
    const list = document.querySelector(".group-list")
    const frames = []
    let last = performance.now()
    for (let frame = 0; frame < 300; frame++) {
      list.scrollTop += 120
      await new Promise(requestAnimationFrame)
      const now = performance.now()
      frames.push(now - last)
      last = now
    }
    return frames
  })()`)

export const measure = async (url: string, run: string): Promise<void> => {
  const browser = await Chromium.launch()
  try {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
    const opened: Array<number> = []
    const results = new Map<string, Array<number>>()
    const fields = [
      ["a word of every group", "input[type=search]", "the"],
      ["a rare word", "input[type=search]", "4711"],
      ["a phrase", "input[type=search]", '"question 123"'],
      ["an environment", ".filters select", "stories_0"],
      ["steps from", "input[placeholder=from]", "100"]
    ] as const
    const frames: Array<number> = []
    const address = `${url}/ui#/groups?run=${run}`
    /** A new tab with its first rows, and how long they took. */
    const visit = async () => {
      const page = await context.newPage()
      await page.goto(address)
      await page.locator(".row-link").first().waitFor()
      // Without a first frame, a tab would count as fast.
      return { page, millis: await page.evaluate<number>("new Promise((done) => requestAnimationFrame(done))") }
    }
    for (let round = 0; round < repetitions; round++) {
      const { millis, page } = await visit()
      opened.push(millis)
      frames.push(...(await scrolled(page)))
      await page.close()
      for (const [what, field, value] of fields) {
        const { page } = await visit()
        results.set(what, [...(results.get(what) ?? []), await filtered(page, field, value)])
        await page.close()
      }
    }
    print("from the address to the first rows", opened)
    for (const [what, millis] of results) print(`filter: ${what}`, millis)
    const sorted = frames.toSorted((a, b) => a - b)
    const [p50, p99] = [0.5, 0.99].map((q) => sorted[Math.floor(q * (sorted.length - 1))] ?? Number.NaN)
    const long = frames.filter((millis) => millis > 50).length
    console.log(
      `frames while scrolling: median ${p50!.toFixed(1)} ms, 99th percentile ${p99!.toFixed(1)} ms, longest ${sorted.at(-1)!.toFixed(1)} ms, ${long} of ${frames.length} over 50 ms`
    )
  } finally {
    await browser.close()
  }
}
