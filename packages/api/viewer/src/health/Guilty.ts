/** Maps a finding to a list filter that has the groups behind it first. Pure. */
import { window } from "@atropos/core/health/Health"
import * as Filter from "../query/Filter.ts"
import { format } from "../route/Location.ts"
import * as RewardNames from "../metrics/RewardNames.ts"
import type { Finding } from "./useHealth.ts"

type Order = Pick<Filter.Filter, "sort" | "isAscending">

const highest = (sort: Filter.Sort): Order => ({ sort, isAscending: false })
const lowest = (sort: Filter.Sort): Order => ({ sort, isAscending: true })

const orders: { readonly [R in Finding["rule"]]: Order } = {
  stalled: lowest("mean"),
  lost: lowest("mean"),
  grader: lowest("mean"),
  expected: highest("deviation"),
  contradictions: highest("deviation"),
  held_out: highest("mean"),
  failures: lowest("mean"),
  learning_rate: lowest("mean"),
  collapse: lowest("mean"),
  fall: lowest("mean"),
  not_finite: highest("surprise"),
  skipped: lowest("deviation"),
  stuck: lowest("mean"),
  out_of_range: highest("mean"),
  identical: lowest("deviation"),
  length_hacking: highest("component"),
  entropy_low: lowest("surprise"),
  entropy_high: highest("surprise"),
  divergence: highest("surprise"),
  gradient: highest("surprise"),
  mismatch: highest("staleness"),
  length: highest("length"),
  truncation: highest("truncated")
}

/** Rules about a single moment, whose groups come right after it. */
const ofMoment: ReadonlySet<Finding["rule"]> = new Set(["collapse", "fall", "grader", "learning_rate"])

export const filterOf = (finding: Finding): Filter.Filter => {
  const { component, from, rule, source, to } = finding
  return {
    ...Filter.none,
    ...orders[rule],
    environment: source === "trainer" ? null : source,
    component: component ?? null,
    stepFrom: from,
    stepTo: ofMoment.has(rule) ? Math.min(to, from + window - 1) : to
  }
}

/** Uses the newest run of the name, whose curves are shown: earlier runs had these steps too. */
export const address = (run: string, filter: Filter.Filter): string =>
  format("/groups", { run, ...Filter.toSearch({ ...filter, isNewestRun: true }) })

/** The groups of a finding, or of one of its steps. */
export const groupsOf = (run: string, finding: Finding, step?: number): string =>
  address(run, { ...filterOf(finding), ...(step !== undefined && { stepFrom: step, stepTo: step }) })

/** The order of the groups behind a metric's point: those that moved it most first. */
const orderOf = (metric: string): Partial<Filter.Filter> =>
  metric.startsWith("train/completion_lengths")
    ? highest("length")
    : metric.includes("truncated")
      ? highest("truncated")
      : metric.startsWith("staleness/")
        ? highest("staleness")
        : {}

export const ofPoint = (metric: string, source: string, step: number): Filter.Filter => {
  const component = RewardNames.componentOf(metric)
  return {
    ...Filter.none,
    ...(component !== null ? { ...highest("component"), component } : orderOf(metric)),
    environment: source === "trainer" || source === "queue" ? null : source,
    stepFrom: step,
    stepTo: step
  }
}
