/**
 * Compares two evaluations by item: which items were fixed, which regressed, and the differences of all scores. Pure;
 * also runs in browsers.
 *
 * Items are matched by stable id. With several answers per item, the share of correct ones is compared, or the mean
 * score if the environment does not define correctness: an item is fixed if that rose, regressed if it fell. Items in
 * only one evaluation are counted and not compared.
 */
import * as Evaluation from "./Statistics.ts"
import * as Paired from "./Paired.ts"

export interface Answer {
  readonly item: number | string
  readonly label?: string
  readonly id?: string
  readonly category?: string
  readonly parsed?: string | null
  readonly score: number
  readonly rewards?: { readonly [name: string]: number }
  /** Absent if the environment does not define it. */
  readonly correct?: boolean
}

/** Answers by item, in order of first occurrence. */
export type Items<A extends Answer = Answer> = ReadonlyMap<string, ReadonlyArray<A>>

export interface Change {
  readonly id: string
  readonly category?: string
  readonly before: number
  readonly after: number
  readonly parsed: readonly [before: string | null, after: string | null]
}

export interface Compared extends Paired.Difference {
  readonly a: number
  readonly b: number
}

export interface Comparison {
  readonly items: number
  readonly onlyInA: number
  readonly onlyInB: number
  readonly unchanged: number
  readonly fixed: ReadonlyArray<Change>
  readonly broken: ReadonlyArray<Change>
  /** Shares of correct answers, if known. */
  readonly correct?: Compared
  readonly scores: { readonly [name: string]: Compared }
  readonly categories: { readonly [category: string]: Compared & { readonly items: number } }
}

/** The identity of an item across evaluations. */
export const idOf = ({ id, item, label }: Pick<Answer, "id" | "item" | "label">): string => id ?? label ?? String(item)

export const byItem = <A extends Answer>(answers: ReadonlyArray<A>): Items<A> => Map.groupBy(answers, idOf)

/** True if correctness is known for every answer. */
export const isJudged = (answers: ReadonlyArray<Pick<Answer, "correct">>): boolean =>
  answers.every(({ correct }) => correct !== undefined)

/** The share of correct answers; the mean score if correctness is unknown. */
export const shareOf = (answers: ReadonlyArray<Pick<Answer, "correct" | "score">>): number =>
  Evaluation.mean(answers.map(({ correct, score }) => (isJudged(answers) ? Number(correct) : score)))

const compared = (pairs: ReadonlyArray<readonly [number, number]>): Compared => ({
  a: Evaluation.mean(pairs.map(([a]) => a)),
  b: Evaluation.mean(pairs.map(([, b]) => b)),
  ...Paired.difference(pairs)
})

const valueOf = (answers: ReadonlyArray<Answer>, name: string): number =>
  Evaluation.mean(answers.map(({ rewards, score }) => (name === "score" ? score : (rewards?.[name] ?? Number.NaN))))

/** Compares B with A; undefined if they have no item in common. */
export const of = (a: Items, b: Items): Comparison | undefined => {
  const ids = [...a.keys()].filter((id) => b.has(id))
  if (ids.length === 0) return undefined
  const pairs = ids.map((id) => ({ id, before: a.get(id) ?? [], after: b.get(id) ?? [] }))
  const changes = pairs.map(({ after, before, id }): Change => {
    const category = after[0]?.category
    return {
      id,
      ...(category !== undefined && { category }),
      before: shareOf(before),
      after: shareOf(after),
      parsed: [before[0]?.parsed ?? null, after[0]?.parsed ?? null]
    }
  })
  const names = new Set(["score", ...pairs.flatMap(({ before }) => Object.keys(before[0]?.rewards ?? {}))])
  const scores = [...names].flatMap((name) => {
    const values = pairs
      .map(({ after, before }) => [valueOf(before, name), valueOf(after, name)] as const)
      .filter((pair) => pair.every(Number.isFinite))
    return values.length === 0 ? [] : [[name, compared(values)] as const]
  })
  const byCategory = Map.groupBy(
    changes.filter(({ category }) => category !== undefined),
    ({ category }) => category ?? ""
  )
  return {
    items: ids.length,
    onlyInA: a.size - ids.length,
    onlyInB: b.size - ids.length,
    unchanged: changes.filter(({ after, before }) => after === before).length,
    fixed: changes.filter(({ after, before }) => after > before),
    broken: changes.filter(({ after, before }) => after < before),
    ...(pairs.every(({ after, before }) => isJudged(before) && isJudged(after)) && {
      correct: compared(changes.map(({ after, before }) => [before, after]))
    }),
    scores: Object.fromEntries(scores),
    categories: Object.fromEntries(
      [...byCategory].map(([category, all]) => [
        category,
        { items: all.length, ...compared(all.map(({ after, before }) => [before, after])) }
      ])
    )
  }
}
