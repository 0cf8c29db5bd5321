/**
 * Turns groups into rows: makes samples, selects, lays out, deduplicates, assigns splits, and counts every outcome.
 *
 * Deterministic for the same groups and seed, apart from its counts and the rows seen. A prompt's split depends only on
 * the seed and the prompt, so no prompt is in two splits, even if rows are appended later.
 */
import type { ScoredGroup } from "@atropos/core"
import * as ExactJson from "@atropos/core/base/json/ExactJson"
import { Result } from "effect"
import { createHash } from "node:crypto"
import * as Counts from "./Counts.ts"
import * as Layout from "./Layout.ts"
import * as Sample from "./Sample.ts"
import * as Selection from "./Selection.ts"

export type Kind = "sft" | "dpo"
export type Split = "train" | "validation"

export interface BuilderOptions extends Sample.Options {
  readonly kind: Kind
  readonly format: Layout.Format
  readonly max: number
  readonly allowNegativeScores: boolean
  readonly minimumDifference: number
  readonly dedupe: boolean
  readonly validationFraction: number
  readonly seed: number
}

export interface MadeRow {
  readonly split: Split
  readonly row: Layout.Row
}

export interface Builder {
  /** The rows of a group, at most `room` of them. */
  readonly take: (group: ScoredGroup.ScoredGroup, room: number) => ReadonlyArray<MadeRow>
  /** Returns true if a group with these scores can give rows. */
  readonly wants: (scores: ReadonlyArray<number>) => boolean
  /** Counts a group without rows by its scores. */
  readonly pass: (scores: ReadonlyArray<number>) => void
  readonly drop: (reason: string, sequences: number) => void
  readonly fault: () => void
  readonly counts: () => Counts.Counts
}

const hash = (...parts: ReadonlyArray<string>): Buffer => createHash("sha256").update(JSON.stringify(parts)).digest()

/** Canonical form of a row without scores: independent of key order; null and absent are equal. */
const canonical = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(canonical)
  if (typeof value !== "object" || value === null) return value
  return Object.entries(value)
    .filter(([, entry]) => entry !== null && entry !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, entry]) => [key, canonical(entry)])
}

/** Identifies equal rows. */
export const digest = (row: Layout.Row): string => {
  const content = Object.fromEntries(Object.entries(row).filter(([column]) => !Layout.scoreColumns.has(column)))
  // A parquet file has 1 for 1.0.
  return hash(ExactJson.write(canonical(ExactJson.plain(content))) ?? "").toString("base64", 0, 15)
}

export const splitOf = (prompt: string, seed: number, validationFraction: number): Split =>
  hash("split", String(seed), prompt).readUIntBE(0, 6) / 2 ** 48 < validationFraction ? "validation" : "train"

interface Made {
  readonly laid: Layout.Laid
  readonly score: number
  readonly hasSeveralTurns: boolean
}

type Reason = Sample.Reason | Layout.Reason | "duplicate" | "not_unicode"

/** False if a text has half of a surrogate pair. Parquet would change it, and readers of JSON refuse the file. */
const isUnicode = (value: unknown): boolean => {
  if (typeof value === "string") return value.isWellFormed()
  if (typeof value !== "object" || value === null) return true
  return Object.entries(value).every(([key, entry]) => key.isWellFormed() && isUnicode(entry))
}

const hasSeveralTurns = (sample: Sample.Sample): boolean =>
  sample._tag === "Text"
    ? sample.segments === undefined || sample.segments.slice(1).some(({ label, text }) => !label && text.trim() !== "")
    : sample.completion.some(({ role }) => role === "user" || role === "tool")

const takeAny = () => Result.succeed(true)

export interface Before {
  readonly counts: Counts.Counts
  /** Digests of the existing rows. */
  readonly seen: Set<string>
}

export const make = (options: BuilderOptions, before: Before = { counts: Counts.empty, seen: new Set() }): Builder => {
  const { allowNegativeScores, dedupe, format, kind, minimumDifference, max, seed, validationFraction } = options
  const { seen } = before
  let { counts } = before

  const drop = (reason: string, sequences: number): void => {
    if (sequences === 0) return
    counts = { ...counts, dropped: { ...counts.dropped, [reason]: (counts.dropped[reason] ?? 0) + sequences } }
  }
  const dropAll = (reasons: ReadonlyArray<string>): void => {
    for (const reason of reasons) drop(reason, 1)
  }
  const isSeen = ({ row }: Layout.Laid): boolean => dedupe && seen.has(digest(row))
  const remember = (row: Layout.Row): void => {
    if (dedupe) seen.add(digest(row))
  }

  const accepted = (
    made: Result.Result<Layout.Laid, Layout.Reason>,
    sample: Sample.Sample
  ): Result.Result<Made, Reason> =>
    Result.flatMap(made, (laid) => {
      if (!isUnicode(laid.row)) return Result.fail<Reason>("not_unicode")
      if (isSeen(laid)) return Result.fail<Reason>("duplicate")
      return Result.succeed({ laid, score: sample.score, hasSeveralTurns: hasSeveralTurns(sample) })
    })

  const singles = (samples: ReadonlyArray<Sample.Sample>, lowest: number): Selection.Selected<Made, Reason> =>
    Selection.best<Sample.Sample, Made, Reason>(samples, {
      allowNegativeScores,
      minimumDifference,
      lowest,
      max,
      make: (sample) => {
        const made = accepted(Layout.sft(format, sample), sample)
        // A group may contain the same row twice.
        if (Result.isSuccess(made)) remember(made.success.laid.row)
        return made
      }
    })

  const paired = (samples: ReadonlyArray<Sample.Sample>): Selection.Selected<Made, Reason> => {
    const key = hash(...samples.map((sample) => JSON.stringify(sample)))
    const { dropped, made } = Selection.pairs<Sample.Sample, Made, Reason>(samples, {
      allowNegativeScores,
      minimumDifference,
      max,
      choose: (pair, count) =>
        count < 2 ? 0 : hash("pair", String(seed), key.toString("hex"), String(pair)).readUInt32BE() % count,
      make: (selected, rejected) => accepted(Layout.dpo(format, selected, rejected), selected)
    })
    const fresh = made.filter(({ laid }) => {
      const isFresh = !isSeen(laid)
      remember(laid.row)
      return isFresh
    })
    const repeated: ReadonlyArray<Reason> = made.slice(fresh.length).map(() => "duplicate")
    return { made: fresh, dropped: [...dropped, ...repeated] }
  }

  const count = ({ hasSeveralTurns, score }: Made, split: Split): void => {
    const { maximum, minimum, sum } = counts.scores
    counts = {
      ...counts,
      [split]: counts[split] + 1,
      severalTurns: counts.severalTurns + (hasSeveralTurns ? 1 : 0),
      scores: {
        sum: sum + score,
        minimum: minimum === null ? score : Math.min(minimum, score),
        maximum: maximum === null ? score : Math.max(maximum, score)
      }
    }
  }

  const byScores = (scores: ReadonlyArray<number>): Selection.Selected<boolean, never> => {
    const candidates = scores.map((score, index) => ({ index, score }))
    return kind === "sft"
      ? Selection.best(candidates, { ...options, lowest: Math.min(...scores), make: takeAny })
      : Selection.pairs(candidates, { ...options, choose: () => 0, make: takeAny })
  }

  const arrived = (sequences: number): void => {
    counts = { ...counts, groups: counts.groups + 1, sequences: counts.sequences + sequences }
  }

  return {
    take: (group, room) => {
      arrived(group.scores.length)
      const results = Sample.ofGroup(group, options)
      dropAll(results.filter(Result.isFailure).map(({ failure }) => failure))
      const samples = results.filter(Result.isSuccess).map(({ success }) => success)
      const { dropped, made } = kind === "sft" ? singles(samples, Math.min(...group.scores)) : paired(samples)
      dropAll(dropped)
      const rows = made.slice(0, room).map((one): MadeRow => {
        const split = splitOf(one.laid.prompt, seed, validationFraction)
        count(one, split)
        return { split, row: one.laid.row }
      })
      drop("beyond_the_number", made.length - rows.length)
      if (rows.length > 0) counts = { ...counts, groupsUsed: counts.groupsUsed + 1 }
      return rows
    },
    wants: (scores) => byScores(scores).made.length > 0,
    pass: (scores) => {
      arrived(scores.length)
      dropAll(byScores(scores).dropped)
    },
    drop,
    fault: () => {
      counts = { ...counts, faults: counts.faults + 1 }
    },
    counts: () => counts
  }
}
