/**
 * Breaks down the time of rollouts into spans of waiting for a server, generating, tools or environment, waiting for
 * the group, and scoring, on one scale from the start of the item's rollout. Milliseconds. Pure.
 */
import type { Call, Timings } from "@atropos/core/trajectory/Timings"
import type { Rollout } from "../model/Group.ts"

/** In the order of legends. */
export const kinds = ["waiting", "generating", "tools", "environment", "group", "scoring"] as const
export type Kind = (typeof kinds)[number]

export const titles: { readonly [K in Kind]: string } = {
  waiting: "waiting for a server",
  generating: "generating",
  tools: "tools",
  environment: "environment",
  group: "waiting for the group",
  scoring: "scoring"
}

export interface Span {
  readonly kind: Kind
  readonly from: number
  readonly to: number
}

/** One answer of the policy, and the environment's work after it. */
export interface Turn {
  /** From 1. */
  readonly number: number
  readonly spans: ReadonlyArray<Span>
  /** Sampled tokens; null if the mask does not separate turns. */
  readonly tokens: number | null
  /** Calls of tools that the agent reported before the next turn, in order of time. */
  readonly calls: ReadonlyArray<Call>
}

export interface Waterfall {
  readonly index: number
  readonly turns: ReadonlyArray<Turn>
  /** Before the first turn, and after the last one. */
  readonly before: ReadonlyArray<Span>
  readonly after: ReadonlyArray<Span>
  readonly answered: number
  readonly to: number
  /** Calls that are not shown. */
  readonly moreCalls: number
}

/** Max calls shown: ours are no more, but others may write any number. */
const maxCalls = 200

const span = (kind: Kind, from: number, to: number): ReadonlyArray<Span> => (to > from ? [{ kind, from, to }] : [])

/** For each answer, from the last one: true if tool results followed. */
const calledTools = ({ messages }: Rollout): ReadonlyArray<boolean> => {
  const all = messages ?? []
  return all.flatMap(({ role }, at) => (role === "assistant" ? [all[at + 1]?.role === "tool"] : [])).toReversed()
}

/** Tokens of each trained span. */
const stretches = ({ mask }: Rollout): ReadonlyArray<number> => {
  const found: Array<number> = []
  let isInside = false
  for (const label of mask) {
    const isTrained = label !== untrained
    if (isTrained && !isInside) found.push(0)
    if (isTrained) found[found.length - 1]!++
    isInside = isTrained
  }
  return found
}

const untrained = -100

const ofTimings = ({ calls = [], scored, turns }: Timings, rollout: Rollout): Waterfall => {
  const shown = calls.toSorted((left, right) => left.from - right.from).slice(0, maxCalls)
  const tools = calledTools(rollout)
  const tokens = stretches(rollout)
  const last = turns.at(-1)!
  return {
    index: rollout.index,
    before: span("environment", 0, turns[0]!.asked),
    turns: turns.map(({ answered, asked: request, sent }, place) => {
      const next = turns[place + 1]
      const isOwn = ({ from }: Call) => (place === 0 || from >= request) && (next === undefined || from < next.asked)
      const kind = tools[turns.length - 1 - place] === true ? "tools" : "environment"
      return {
        number: place + 1,
        spans: [
          ...span("waiting", request, sent),
          ...span("generating", sent, answered),
          ...(next === undefined ? [] : span(kind, answered, next.asked))
        ],
        tokens: tokens.length === turns.length ? tokens[place]! : null,
        calls: shown.filter(isOwn)
      }
    }),
    after:
      scored === undefined
        ? []
        : [...span("group", last.answered, scored.from), ...span("scoring", scored.from, scored.to)],
    answered: last.answered,
    to: shown.reduce((end, { to }) => Math.max(end, to), Math.max(last.answered, scored?.to ?? 0)),
    moreCalls: calls.length - shown.length
  }
}

export const of = (rollouts: ReadonlyArray<Rollout>): ReadonlyArray<Waterfall> =>
  rollouts.flatMap((rollout) => (rollout.timings === null ? [] : [ofTimings(rollout.timings, rollout)]))

export const spansOf = ({ after, before, turns }: Waterfall): ReadonlyArray<Span> => [
  ...before,
  ...turns.flatMap(({ spans }) => spans),
  ...after
]

/** Total milliseconds of a kind. */
export const total = (spans: ReadonlyArray<Span>, kind: Kind): number =>
  spans.reduce((sum, span) => sum + (span.kind === kind ? span.to - span.from : 0), 0)

const percent = (part: number, whole: number): string => `${Math.round((100 * part) / whole)}%`

/** A rollout's time in a sentence, the largest share first. */
export const summarize = (waterfall: Waterfall, written: (seconds: number) => string): string => {
  const spans = spansOf(waterfall)
  const shares = kinds
    .map((kind) => ({ kind, millis: total(spans, kind) }))
    .filter(({ millis }) => millis > waterfall.to / 200)
    .sort((left, right) => right.millis - left.millis)
    .map(({ kind, millis }) => `${percent(millis, waterfall.to)} ${titles[kind]}`)
  const whole = written(waterfall.to / 1000)
  const turns = waterfall.turns.length === 1 ? "one turn" : `${waterfall.turns.length} turns`
  return `${whole} and ${turns}${shares.length === 0 ? "" : `: ${shares.join(", ")}`}.`
}

/** The rollout the others waited for; null if the wait was short. */
export const straggler = (
  all: ReadonlyArray<Waterfall>
): { readonly index: number; readonly millis: number } | null => {
  const [last, other] = all.toSorted((left, right) => right.answered - left.answered)
  if (last === undefined || other === undefined) return null
  const millis = last.answered - other.answered
  return millis >= last.to / 10 && millis > 0 ? { index: last.index, millis } : null
}

/** At most `max` round times for an axis, from 0 on. */
export const ticks = (to: number, max: number): ReadonlyArray<number> => {
  const min = Math.max(1, to / max)
  const power = 10 ** Math.floor(Math.log10(min))
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= min)!
  return Array.from({ length: Math.floor(to / step) + 1 }, (_, tick) => tick * step)
}
