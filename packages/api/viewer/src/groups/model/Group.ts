/**
 * Parses a group for the viewer from the original's object of 14 keys (and `policy_versions`, `version_runs`,
 * `timings`, `trainer_logprobs`). Third-party data is used as far as it is valid: a field of another type counts as
 * absent, so that one odd field never hides the rest. G sequences; per-token arrays may be shorter than the tokens.
 */
import * as Predicate from "effect/Predicate"
import * as Prompt from "@atropos/api/rollout/Prompt"
import * as Timings from "@atropos/core/trajectory/Timings"
import * as VersionRuns from "@atropos/core/trajectory/VersionRuns"
import type { AdvantageRecipe } from "../../source/Wire.ts"
import * as AdvantageRule from "./AdvantageRule.ts"
import { type Image, imagesOf } from "../message/Image.ts"
import { type Message, read as readMessage } from "../message/Message.ts"

type Numbers = ReadonlyArray<number>
type Fields = { readonly [key: string]: unknown }

export interface TrainedRow {
  /** Version of the weights that computed them; null if unknown. */
  readonly version: number | null
  /** Nats; above 0.5 if the token was not recorded. Null if `differences` has them. */
  readonly logprobs: Numbers | null
  /** Trainer - sampler, nats, as in saved pages: 1000 if the token was not recorded. */
  readonly differences: Numbers | null
}

export interface Rollout {
  /** Index in the group, from 0. */
  readonly index: number
  readonly score: number | null
  /**
   * Its advantage by the rule of the run, unless the group has one for the whole sequence. Null if none, or
   * each token has its own.
   */
  readonly advantage: number | null
  readonly tokens: Numbers
  readonly mask: Numbers
  /** Nats under the sampling policy; above 0.5 if the token was not sampled. */
  readonly logprobs: Numbers | null
  readonly refLogprobs: Numbers | null
  /** The trainer's logprobs before the update; null if not recorded. */
  readonly trained: TrainedRow | null
  /** Advantages the environment gave per token. */
  readonly advantages: Numbers | null
  /** The teacher's candidates for each position. */
  readonly teacher: { readonly ids: ReadonlyArray<Numbers>; readonly logprobs: ReadonlyArray<Numbers> } | null
  /** Null if it has no chat. */
  readonly messages: ReadonlyArray<Message> | null
  readonly images: ReadonlyArray<Image>
  /** Trainer step whose weights sampled it. */
  readonly policyVersion: number | null
  /** Versions per token, if weights changed while it was sampled; else empty. */
  readonly versionRuns: Int32Array
  /** Score components, if recorded separately: raw, unweighted values. */
  readonly rewards: ReadonlyArray<readonly [component: string, value: number]>
  /** The parsed answer: null if parsing failed, undefined if unknown. */
  readonly parsed: string | null | undefined
  /** The explanation of its score. */
  readonly rationale: string | null
  readonly overrides: Fields
  /** Times of its turns; null if not recorded. */
  readonly timings: Timings.Timings | null
  /** `stop`, `length`, … */
  readonly finishReason: string | null
}

export interface Group {
  readonly rollouts: ReadonlyArray<Rollout>
  /** Pictures of the item rather than of one rollout. */
  readonly images: ReadonlyArray<Image>
  readonly generationParams: Fields
  readonly groupOverrides: Fields
  /** Expected answers; empty if unknown. */
  readonly gold: ReadonlyArray<string>
  readonly mean: number | null
  /** Of the sample or the population, as in the run's rule for advantages. */
  readonly std: number | null
}

/** Parses a group; null if it is not an object with sequences. `recipe` is the run's; null if unknown. */
export const read = (value: unknown, recipe: AdvantageRecipe | null = null): Group | null => {
  if (!Predicate.isReadonlyObject(value)) return null
  const tokens = rows(value["tokens"])
  const scores = numbers(value["scores"]) ?? []
  const chats = list(value["messages"])
  const size = Math.max(tokens.length, scores.length, chats.length)
  if (size === 0) return null
  const { mean, std } = spread(scores, AdvantageRule.isOfSample(recipe))
  const masks = rows(value["masks"])
  const logprobs = rows(value["inference_logprobs"])
  const refLogprobs = rows(value["ref_logprobs"])
  const advantages = rows(value["advantages"])
  const trained = trainedOf(value)
  const images = list(value["images"])
  const imagesAreOfRollouts = images.length === size
  const overrides = list(value["overrides"])
  const timings = list(value["timings"])
  const sessions = scores.map((_, index) => fields(overrides[index])["session"])
  const ofScores = AdvantageRule.ofScores(scores, recipe, sessions)
  const rollouts = Array.from({ length: size }, (_, index): Rollout => {
    const own = fields(overrides[index])
    const isZero = Boolean(own["set_advantage_to_zero"])
    const ofRollout = advantages[index] ?? null
    const perToken = isZero || ofRollout === null || ofRollout.length <= 1 ? null : ofRollout
    // A row of one entry applies to the whole sequence.
    const ofSequence = ofRollout?.length === 1 ? ofRollout[0]! : (ofScores?.[index] ?? null)
    const chat = list(chats[index])
    const teacherIds = list(list(value["distill_token_ids"])[index])
    return {
      index,
      score: scores[index] ?? null,
      advantage: isZero ? 0 : perToken === null ? ofSequence : null,
      tokens: tokens[index] ?? [],
      mask: masks[index] ?? [],
      logprobs: logprobs[index] ?? null,
      refLogprobs: refLogprobs[index] ?? null,
      trained: trained(index),
      advantages: perToken,
      teacher:
        teacherIds.length === 0
          ? null
          : { ids: rows(teacherIds), logprobs: rows(list(value["distill_logprobs"])[index]) },
      messages: chat.length === 0 ? null : chat.map(readMessage),
      images: imagesAreOfRollouts ? imagesOf(images[index]) : [],
      policyVersion: number(list(value["policy_versions"])[index]),
      versionRuns: VersionRuns.ofJson(list(value["version_runs"])[index]) ?? new Int32Array(),
      rewards: components(own["rewards"]),
      parsed: typeof own["parsed"] === "string" || own["parsed"] === null ? own["parsed"] : undefined,
      rationale: typeof own["rationale"] === "string" && own["rationale"] !== "" ? own["rationale"] : null,
      overrides: own,
      timings: Timings.ofJson(timings[index]),
      finishReason: typeof own["finish_reason"] === "string" ? own["finish_reason"] : null
    }
  })
  const { gold, ...groupOverrides } = fields(value["group_overrides"])
  return {
    rollouts,
    gold: list(gold).filter((one) => typeof one === "string"),
    images: imagesAreOfRollouts ? [] : imagesOf(value["images"]),
    generationParams: fields(value["generation_params"]),
    groupOverrides,
    mean,
    std
  }
}

/** Best score first, ties in the group's order; rollouts without a score last. */
export const ordered = (group: Group): ReadonlyArray<Rollout> =>
  group.rollouts.toSorted((a, b) => (b.score ?? -Infinity) - (a.score ?? -Infinity) || a.index - b.index)

/**
 * Number of leading messages that form the item's prompt: none written by the policy, even if identical in all
 * rollouts. Leaves at least one message to each rollout.
 */
export const sharedMessages = ({ rollouts }: Group): number => {
  const chats = rollouts.map(({ messages }) => (messages ?? []).map(({ raw }) => raw))
  const max = Math.min(...chats.map((chat) => chat.length)) - 1
  const length = Prompt.lengthOf(
    chats,
    rollouts.map(({ mask }) => mask)
  )
  return Math.max(0, Math.min(max, length))
}

export const hasReasoning = ({ rollouts }: Group): boolean =>
  rollouts.some(({ messages }) => messages?.some(({ parts }) => parts.some(({ kind }) => kind === "reasoning")))

export interface Pictures {
  /** Those of the item, shown with the prompt. */
  readonly shared: ReadonlyArray<Image>
  /** Those of each rollout, in the group's order. */
  readonly own: ReadonlyArray<ReadonlyArray<Image>>
}

/** Lists each picture once: without those in messages; those of all rollouts are shown with the prompt. */
export const picturesOf = ({ images, rollouts }: Group): Pictures => {
  const inMessages = rollouts.map(({ messages }) => new Set((messages ?? []).flatMap(picturesIn)))
  const own = rollouts.map((rollout, place) => rollout.images.filter(({ src }) => !inMessages[place]!.has(src)))
  const lists = new Set(own.map((pictures) => JSON.stringify(pictures)))
  const isShared = rollouts.length > 1 && lists.size === 1
  const ofItem = images.filter(({ src }) => inMessages.length === 0 || !inMessages.every((seen) => seen.has(src)))
  return isShared ? { shared: [...ofItem, ...own[0]!], own: own.map(() => []) } : { shared: ofItem, own }
}

/** Pictures shown by its parts; unloaded URLs do not count. */
const picturesIn = ({ parts }: Message): ReadonlyArray<string | null> =>
  parts.flatMap((part) => (part.kind === "image" && part.image.src !== null ? [part.image.src] : []))

/** Characters of the longest answer, after the shared messages. */
export const longestAnswer = ({ rollouts }: Group, shared: number): number =>
  rollouts.reduce(
    (max, { messages, tokens }) =>
      Math.max(
        max,
        messages === null
          ? tokens.length * 4
          : messages.slice(shared).reduce((sum, { raw }) => sum + (JSON.stringify(raw)?.length ?? 0), 0)
      ),
    0
  )

/** Reduces the group's object to one rollout: per-sequence fields keep only its entry. */
export const jsonOfRollout = (group: unknown, index: number): unknown => {
  if (!Predicate.isReadonlyObject(group)) return group
  const size = Math.max(list(group["tokens"]).length, list(group["scores"]).length)
  return Object.fromEntries(
    Object.entries(group).map(([key, value]) => [
      key,
      Array.isArray(value) && value.length === size ? [value[index] as unknown] : value
    ])
  )
}

const spread = (
  scores: Numbers,
  isOfSample: boolean
): { readonly mean: number | null; readonly std: number | null } => {
  if (scores.length === 0) return { mean: null, std: null }
  const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length
  const squares = scores.reduce((sum, score) => sum + (score - mean) ** 2, 0)
  return { mean, std: Math.sqrt(squares / Math.max(1, scores.length - (isOfSample ? 1 : 0))) }
}

const some = (row: Numbers | undefined) => (row === undefined || row.length === 0 ? null : row)

const trainedOf = (group: Fields) => {
  const logprobs = rows(group["trainer_logprobs"])
  const differences = rows(group["trainer_differences"])
  const version = number(group["trainer_version"])
  return (index: number): TrainedRow | null => {
    const row = { version, logprobs: some(logprobs[index]), differences: some(differences[index]) }
    return row.logprobs === null && row.differences === null ? null : row
  }
}

/** Empty unless all values are numbers. */
const components = (value: unknown): Rollout["rewards"] => {
  const all = Object.entries(fields(value))
  return all.every((one): one is [string, number] => number(one[1]) !== null) ? all : []
}

const fields = (value: unknown): Fields => (Predicate.isReadonlyObject(value) ? value : {})
const list = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])
const number = (value: unknown): number | null => (typeof value === "number" && Number.isFinite(value) ? value : null)

/** The array itself if it holds numbers, since sequences can be long. */
const numbers = (value: unknown): Numbers | null =>
  Array.isArray(value) && value.every((entry) => typeof entry === "number") ? value : null

const rows = (value: unknown): ReadonlyArray<Numbers> => list(value).map((row) => numbers(row) ?? [])
