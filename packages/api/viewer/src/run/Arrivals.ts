/** Loads the groups whose arrival a timeline shows: those of its steps, newest first, up to a max number. */
import type { Source } from "../source/Source.ts"
import type * as Wire from "../source/Wire.ts"
import { count } from "../ui/Format.ts"

export interface Arrivals {
  /** Newest first. */
  readonly rows: ReadonlyArray<Wire.RolloutRow>
  readonly total: number
}

const pageRows = 1000
const most = 10_000

export const load = async (source: Source, run: string, stepFrom: number, signal: AbortSignal): Promise<Arrivals> => {
  const rows: Array<Wire.RolloutRow> = []
  let total = 0
  let before: string | undefined
  do {
    const query = { newest_run: "true" as const, step_from: stepFrom, limit: pageRows }
    const page = await source.browse(run, { ...query, ...(before !== undefined && { before }) }, signal)
    rows.push(...page.rows)
    total = page.total ?? total
    before = page.next ?? undefined
  } while (before !== undefined && rows.length < most)
  return { rows, total }
}

/** Describes the groups not shown; null if all are. */
export const missing = ({ rows, total }: Arrivals): string | null => {
  if (rows.length >= total) return null
  const first = rows.at(-1)?.step ?? null
  const where = first === null ? "" : `; environment lanes are empty before step ${count(first)}`
  return `Showing the newest ${count(rows.length)} of ${count(total)} groups${where}.`
}
