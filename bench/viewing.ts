/**
 * Measures the latencies of a viewer of many rollouts: pages, filters, searches, orders and presets of 10,000 groups of
 * 8 with chats, in the service.
 *
 *     node --conditions=atropos-src bench/viewing.ts [groups] [words of an answer]
 *         PGlite, and Postgres if DATABASE_URL is set
 *     node --conditions=atropos-src bench/viewing.ts fill <url> [groups] [words] [run]
 *         fills a running service, for viewing
 *     node --conditions=atropos-src bench/viewing.ts measure <url>
 *         measures it
 *     node --conditions=atropos-src bench/viewing.ts browse <url>
 *         measures it in chromium
 */
import { Effect } from "effect"
import { setTimeout as sleep } from "node:timers/promises"
import * as Browsing from "./internal/Browsing.ts"
import { fill } from "./internal/Filling.ts"
import * as Servers from "./internal/Servers.ts"
import * as ViewingQueries from "./internal/ViewingQueries.ts"

const [first = "", ...rest] = process.argv.slice(2)
const run = "viewing"

const seconds = (from: number) => ((performance.now() - from) / 1000).toFixed(1)

const fillService = async (url: string, groups: number, words: number, name: string) => {
  const started = performance.now()
  const token = process.env["ATROPOS_TOKEN"]
  await Effect.runPromise(fill({ url, run: name, groups, words, ...(token !== undefined && { token }) }))
  console.log(`${groups} groups of 8 x ${words} words sent, trained on and measured: ${seconds(started)} s`)
}

interface Page {
  readonly rows: ReadonlyArray<{ readonly id: string; readonly preview: string | null }>
  readonly next: string | null
  readonly total: number | null
  readonly unindexed: number | null
}

const quantile = (sorted: ReadonlyArray<number>, q: number) => sorted[Math.floor(q * (sorted.length - 1))] ?? 0

const repetitions = 20

const measure = async (url: string) => {
  const page = async (query: string): Promise<Page> => {
    const response = await fetch(`${url}/v1/runs/${run}/rollouts?${query}`)
    if (!response.ok) throw new Error(`${query}: ${response.status} ${await response.text()}`)
    return (await response.json()) as Page
  }
  const started = performance.now()
  for (;;) {
    const { unindexed } = await page("limit=1")
    if (unindexed === 0) break
    await sleep(250)
  }
  console.log(`indexed ${seconds(started)} s later`)
  const deep = async (): Promise<string> => {
    let before = ""
    for (let i = 0; i < 5; i++) before = (await page(`limit=1000&before=${before || "999999999"}`)).next ?? before
    return before
  }
  const before = await deep()
  const queries = ViewingQueries.all(before)
  for (const [what, query] of queries) {
    const times: Array<number> = []
    let found: Page | undefined
    for (let i = 0; i < repetitions; i++) {
      const from = performance.now()
      found = await page(query)
      times.push(performance.now() - from)
    }
    times.sort((a, b) => a - b)
    console.log(
      `${what.padEnd(36)} ${quantile(times, 0.5).toFixed(1).padStart(7)} ms   worst ${times.at(-1)!.toFixed(1).padStart(7)} ms   ${found?.total ?? "-"} found`
    )
  }
  for (const path of [
    ...["score", "advantage", "length"].map((one) => `distribution?measure=${one}`),
    "metrics?limit=10000",
    "settings",
    "environments",
    "batches",
    "summary",
    "pieces"
  ]) {
    const from = performance.now()
    const { length } = await (await fetch(`${url}/v1/runs/${run}/${path}`)).text()
    console.log(`${path.padEnd(36)} ${(performance.now() - from).toFixed(1).padStart(7)} ms   ${length} characters`)
  }
}

if (first === "fill") {
  const [url, groups = "10000", words = "100", name = run] = rest
  if (url === undefined)
    throw new Error("which service? bench/viewing.ts fill http://127.0.0.1:8000 [groups] [words] [run]")
  await fillService(url, Number(groups), Number(words), name)
} else if (first === "measure") {
  const [url] = rest
  if (url === undefined) throw new Error("which service? bench/viewing.ts measure http://127.0.0.1:8000")
  await measure(url)
} else if (first === "browse") {
  const [url] = rest
  if (url === undefined) throw new Error("which service? bench/viewing.ts browse http://127.0.0.1:8000")
  await Browsing.measure(url, run)
} else {
  const server = process.env["DATABASE_URL"]
  for (const database of server === undefined ? [undefined] : [undefined, server]) {
    const service = await Servers.ours(database)
    console.log(service.name)
    try {
      const url = `http://127.0.0.1:${service.port}`
      await fillService(url, Number(first || 10_000), Number(rest[0] ?? 100), run)
      await measure(url)
    } finally {
      await service.stop()
    }
  }
}
