/**
 * Extracts the metrics by which group lists are sorted and filtered, besides scores, from a group as it was sent. Pure;
 * used by the service, over files and in saved pages.
 *
 * Third-party data is used as far as it is valid. Masks are labels (-100 for untrained) or zeros and ones; logprobs are
 * in nats, and ignored for tokens that were not sampled (NaN, or above 0).
 */
import * as Expected from "@atropos/core/evaluation/Expected"
import { isFields } from "./Fields.ts"
import * as Preview from "./Preview.ts"
import * as Prompt from "./Prompt.ts"

/** The form of the service's API (`TrajectoryApi.GroupFigures`). */
export interface Figures {
  readonly prompt: string | null
  readonly length: number
  readonly longestBest: number
  readonly truncated: number
  readonly toolErrors: number
  readonly surprise: number | null
  readonly surpriseBest: number | null
  readonly components: { readonly [component: string]: number }
  readonly lengths: ReadonlyArray<number>
  readonly answers: ReadonlyArray<string>
  readonly expected?: string
}

/** A group's fields, in any of its forms. */
export interface Sent {
  readonly scores: ArrayLike<number>
  readonly masks?: unknown
  readonly messages?: unknown
  readonly logprobs?: unknown
  readonly overrides?: unknown
  readonly groupOverrides?: unknown
  /** The components, if separate from the overrides. */
  readonly rewards?: unknown
}

const list = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

const isRow = (value: unknown): value is ArrayLike<number> => Array.isArray(value) || ArrayBuffer.isView(value)

const untrainedOf = (mask: ArrayLike<number>): number => {
  for (let at = 0; at < mask.length; at++) if (mask[at] !== 0 && mask[at] !== 1) return -100
  return 0
}

interface Trained {
  readonly tokens: number
  /** Mean negative logprob. */
  readonly surprise: number | null
}

const trainedOf = (mask: unknown, logprobs: unknown): Trained => {
  if (!isRow(mask)) return { tokens: 0, surprise: null }
  const untrained = untrainedOf(mask)
  const known = isRow(logprobs) ? logprobs : []
  let [tokens, sum, reported] = [0, 0, 0]
  for (let at = 0; at < mask.length; at++) {
    if (mask[at] === untrained) continue
    tokens++
    const logprob = known[at]
    if (logprob === undefined || !(logprob <= 0) || !Number.isFinite(logprob)) continue
    sum -= logprob
    reported++
  }
  return { tokens, surprise: reported === 0 ? null : sum / reported }
}

const isTruncated = (own: unknown): boolean =>
  isFields(own) && (own["finish_reason"] === "length" || own["truncated"] === true)

/** Matches errors of our tools and of Python's. */
const isToolError = (message: unknown): boolean =>
  isFields(message) &&
  message["role"] === "tool" &&
  typeof message["content"] === "string" &&
  /^(?:error\b|traceback )/i.test(message["content"].slice(0, 40).trimStart())

const componentsOf = (rows: ReadonlyArray<unknown>): { readonly [component: string]: number } => {
  const totals = new Map<string, { sum: number; count: number }>()
  for (const row of rows) {
    for (const [component, value] of Object.entries(isFields(row) ? row : {})) {
      if (typeof value !== "number" || !Number.isFinite(value)) continue
      const total = totals.get(component) ?? { sum: 0, count: 0 }
      totals.set(component, { sum: total.sum + value, count: total.count + 1 })
    }
  }
  return Object.fromEntries([...totals].map(([component, { count, sum }]) => [component, sum / count]))
}

/** Two 32-bit sums (FNV-1a) of a text's units: no protection against malicious collisions. */
const fingerprint = (text: string): string => {
  let [one, two] = [0x811c9dc5, 0x1000193]
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    one = Math.imul(one ^ unit, 0x01000193)
    two = Math.imul(two ^ (unit + at), 0x01000193)
  }
  return `~${[one, two].map((part) => (part >>> 0).toString(16).padStart(8, "0")).join("")}`
}

const answerDigits = 12

/** Prefix of the fingerprint of an answer that matches the expected one. */
const matches = "="

const expectedCharacters = 80

const expectedOf = ({ groupOverrides }: Sent): Pick<Figures, "expected"> => {
  const gold = isFields(groupOverrides) ? list(groupOverrides["gold"])[0] : undefined
  const line = typeof gold === "string" ? Preview.of(gold, expectedCharacters) : ""
  return line === "" ? {} : { expected: line }
}

const textsOf = (sent: Sent): Pick<Figures, "prompt" | "answers"> => {
  const { masks, messages } = sent
  const chats = list(messages).filter((chat): chat is ReadonlyArray<unknown> => Array.isArray(chat) && chat.length > 0)
  const length = Prompt.lengthOf(chats, masks)
  const isExpected = Expected.of(sent) ?? (() => false)
  const prompt = chats[0]?.slice(0, length) ?? []
  return {
    prompt: prompt.length === 0 ? null : fingerprint(JSON.stringify(prompt)),
    // If a rollout has no chat, chats cannot be matched with rollouts.
    answers:
      chats.length < list(messages).length
        ? []
        : chats.map((chat, rollout) => {
            const digits = fingerprint(JSON.stringify(chat.slice(length))).slice(1, 1 + answerDigits)
            return isExpected(rollout) ? `${matches}${digits}` : digits
          })
  }
}

const surpriseOf = (rollouts: ReadonlyArray<Trained>): number | null =>
  rollouts.reduce<number | null>(
    (max, { surprise }) => (surprise === null ? max : Math.max(surprise, max ?? surprise)),
    null
  )

export const of = (sent: Sent): Figures => {
  const { logprobs, masks, messages, overrides, rewards, scores } = sent
  const size = scores.length
  const own = list(overrides)
  const trained = Array.from({ length: size }, (_, at) => trainedOf(list(masks)[at], list(logprobs)[at]))
  let best = Number.NEGATIVE_INFINITY
  for (let at = 0; at < size; at++) best = Math.max(best, scores[at]!)
  const ofBest = trained.filter((_, at) => scores[at] === best)
  return {
    ...textsOf(sent),
    ...expectedOf(sent),
    length: trained.reduce((sum, { tokens }) => sum + tokens, 0) / Math.max(1, size),
    longestBest: ofBest.reduce((max, { tokens }) => Math.max(max, tokens), 0),
    lengths: trained.map(({ tokens }) => tokens),
    truncated: own.filter(isTruncated).length / Math.max(1, size),
    toolErrors: list(messages).flatMap(list).filter(isToolError).length,
    surprise: surpriseOf(trained),
    surpriseBest: surpriseOf(ofBest),
    components: componentsOf(
      rewards === undefined ? own.map((one) => (isFields(one) ? one["rewards"] : null)) : list(rewards)
    )
  }
}

export const ofScoredGroup = (group: Omit<Sent, "logprobs"> & { readonly inferenceLogprobs?: unknown }): Figures =>
  of({ ...group, logprobs: group.inferenceLogprobs })
