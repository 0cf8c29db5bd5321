/** The groups behind a finding: the filter of the list that has them first. Pure. */
import { window } from "@atropos/core/health/Health"
import * as Filter from "../groups/list/Filter.ts"
import { format } from "../route/Location.ts"
import * as RewardNames from "../run/RewardNames.ts"
import type { Finding } from "./useHealth.ts"

type Order = Pick<Filter.Filter, "sort" | "isAscending">

const highest = (sort: Filter.Sort): Order => ({ sort, isAscending: false })
const lowest = (sort: Filter.Sort): Order => ({ sort, isAscending: true })

/** Which groups come first. */
const orders: { readonly [R in Finding["rule"]]: Order } = {
  stalled: lowest("mean"),
  grader: lowest("mean"),
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

/** What broke at one moment is looked for right after it. */
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

/** Of the run whose curves are shown: a name's newest. Earlier runs of the name had these steps too. */
export const address = (run: string, filter: Filter.Filter): string =>
  format("/groups", { run, ...Filter.toSearch({ ...filter, isNewestRun: true }) })

/** The groups of a finding; of single steps those of the step. */
export const groupsOf = (run: string, finding: Finding, step?: number): string =>
  address(run, { ...filterOf(finding), ...(step !== undefined && { stepFrom: step, stepTo: step }) })

/** By what the groups behind a metric's point come: what moved it first. */
const orderOf = (metric: string): Partial<Filter.Filter> =>
  metric.startsWith("train/completion_lengths")
    ? highest("length")
    : metric.includes("truncated")
      ? highest("truncated")
      : metric.startsWith("staleness/")
        ? highest("staleness")
        : {}

/** The groups of a point of a curve. */
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
