/**
 * Implements the source over a saved page: all data is in `#atropos-data` (`StaticData`), without a network. Groups are
 * unpacked on demand. Filters have the service's semantics.
 */
import * as PackedPage from "@atropos/api/rollout/PackedPage"
import * as RolloutText from "@atropos/api/rollout/RolloutText"
import * as Reach from "./Reach.ts"
import * as RowFilter from "./RowFilter.ts"
import { type Source, SourceError } from "./Source.ts"
import type * as Wire from "./Wire.ts"

/**
 * Reads evaluations in a saved page: their samples' chats are those of the page's groups.
 * `chatOf` returns the unpacked chat of a run's group.
 */
const makeEvaluations = (
  { evaluations: all = [] }: Wire.StaticData,
  chatOf: (run: string, group: string) => unknown
): Pick<Source, "evaluations" | "evaluation" | "evaluationSamples" | "evaluationSample"> => {
  const find = (id: string) => {
    const found = all.find(({ row }) => row.id === id)
    if (found === undefined) throw new SourceError("not-found", `Evaluation ${id} not found in this page.`)
    return found
  }
  return {
    evaluations: async () => all.map(({ row }) => row),
    evaluation: async (id) => find(id).row,
    evaluationSamples: async (id) => find(id).samples.map(({ head }) => head),
    evaluationSample: async (id, number) => {
      const { row, samples } = find(id)
      const sample = samples.find(({ head }) => head.number === number)
      if (sample === undefined) throw new SourceError("not-found", `Evaluation ${id} has no sample ${number}.`)
      return { ...sample.fields, messages: chatOf(row.run ?? "", sample.group) }
    }
  }
}

export const open = async (base64: string): Promise<Source> => {
  try {
    const [json, ids, high, low] = await Promise.all(base64.trim().split(/\s+/).map(unzipped))
    // Saved pages are written by our own commands; groups are validated on use.
    const data = JSON.parse(new TextDecoder().decode(json)) as Wire.StaticData
    if (data.tables === undefined) return make(data)
    if (ids === undefined || high === undefined || low === undefined) throw new Error("columns are missing")
    return make(data, PackedPage.reader(data.tables, { ids, high, low }))
  } catch (cause) {
    throw new SourceError(
      "failed",
      `Cannot read the rollouts saved in this page (${String(cause)}): is the file complete?`
    )
  }
}

type StaticRun = Wire.StaticData["runs"][number]

/** `unpack` restores a packed group. */
export const make = (data: Wire.StaticData, unpack: (group: unknown) => unknown = (group) => group): Source => {
  const runs = new Map(data.runs.map((run) => [run.name, run]))
  const texts = new Map<string, RolloutText.GroupText>()

  const find = (name: string): StaticRun => {
    const run = runs.get(name)
    if (run === undefined) throw new SourceError("not-found", `Run “${name}” not found in this page.`)
    return run
  }

  const textOf = (run: StaticRun, id: string): RolloutText.GroupText => {
    const key = `${run.name}/${id}`
    const cached = texts.get(key)
    if (cached !== undefined) return cached
    const group = run.groups[id]
    // Without numbers, which are not searched.
    const text = RolloutText.ofMessages(messagesOf(unpack({ messages: messagesOf(group) })))
    texts.set(key, text)
    return text
  }

  const filtered = (run: StaticRun, query: Wire.RolloutQuery): ReadonlyArray<Wire.RolloutRow> => {
    const terms = RolloutText.parse(query.text ?? "")
    const rows = RowFilter.select(run.rows, query)
    return terms === undefined ? rows : rows.filter((row) => RolloutText.matches(terms, textOf(run, row.id)))
  }

  return {
    reach: Reach.always,
    stepOf: () => null,
    isLive: false,
    hasService: false,
    opens: null,
    hasMetrics: data.runs.some(({ metrics = [] }) => metrics.length > 0),
    title: data.title,
    runs: async () =>
      data.runs.map(({ name, rows }) => ({
        name,
        batch_size: 0,
        max_token_length: 0,
        starting_step: 0,
        num_steps: -1,
        registered: false,
        started: false,
        advantages: null,
        ended: true,
        current_step: rows.reduce((step, row) => Math.max(step, row.step ?? 0), 0)
      })),
    browse: async (name, query) => {
      const rows = filtered(find(name), query)
      const start =
        query.before === undefined
          ? 0
          : query.sort === undefined
            ? rows.findIndex((row) => row.id === query.before) + 1
            : Number(query.before)
      const end = start + (query.limit ?? 100)
      const page = rows.slice(start, end)
      return {
        rows: page,
        next: end >= rows.length ? null : query.sort === undefined ? (page.at(-1)?.id ?? null) : String(end),
        total: query.before === undefined ? rows.length : null,
        unindexed: query.before === undefined ? 0 : null
      }
    },
    rollout: async (name, id) => {
      const run = find(name)
      const row = run.rows.find((row) => row.id === id)
      if (row === undefined) throw new SourceError("not-found", `Group ${id} of run “${name}” not found in this page.`)
      return { ...row, group: unpack(run.groups[id]) }
    },
    pieces: async (name) => find(name).pieces ?? {},
    metrics: async (name, { after, from_step = -Infinity, source }) => {
      const rows = find(name).metrics ?? []
      const start = after === undefined ? 0 : rows.findIndex((row) => row.id === after) + 1
      return {
        metrics: rows
          .slice(start)
          .filter((row) => row.step >= from_step && (source === undefined || row.source === source)),
        next: null
      }
    },
    distribution: async () => null,
    reverified: async (name) => find(name).reverified ?? null,
    settings: async (name) => find(name).settings ?? [],
    notes: null,
    administration: null,
    console: () => absent("console"),
    environments: () => absent("environments"),
    environmentNames: async (name) => [...new Set(find(name).rows.flatMap(({ environment }) => environment ?? []))],
    ...makeEvaluations(data, (run, group) => {
      const chats = messagesOf(unpack({ messages: messagesOf(runs.get(run)?.groups[group]) }))
      return Array.isArray(chats) ? (chats[0] as unknown) : undefined
    }),
    batches: () => absent("batches"),
    summary: () => absent("queue"),
    watchMetrics: () => () => {},
    watchSummary: () => () => {}
  }
}

const messagesOf = (group: unknown): unknown =>
  typeof group === "object" && group !== null && "messages" in group ? group.messages : undefined

const unzipped = async (base64: string): Promise<Uint8Array> =>
  new Uint8Array(
    await new Response(new Blob([bytesOf(base64)]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer()
  )

/** A loop, since pages hold megabytes. */
const bytesOf = (base64: string): Uint8Array<ArrayBuffer> => {
  const text = atob(base64)
  const bytes = new Uint8Array(text.length)
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at)
  return bytes
}

const absent = (what: string): Promise<never> =>
  Promise.reject(new SourceError("static", `A saved page has no ${what}.`))
