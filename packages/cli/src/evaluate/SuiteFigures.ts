/**
 * Computes the metrics of a suite's samples: every score, pass@k and maj@k, also by category, each with its interval.
 *
 * A metric is the mean over items of an item's mean. Values in [0, 1] get Wilson's interval over the effective number
 * of items (`Evaluation.share`), others Student's t. With `weights` a metric counts other units (IFEval's
 * instructions), with Wilson's interval over Kish's effective sample size, since the units of one sample are
 * correlated.
 *
 * maj@k: the share of items whose most frequent answer of k is correct, over disjoint choices of k in order. Correct
 * answers count as one, others by their text; the first wins ties, and unparsed answers do not count.
 */
import { Evaluation } from "@atropos/core"
import * as Comparison from "@atropos/core/evaluation/Comparison"
import * as Samples from "./Samples.ts"

/** Computes Pearson's r, Spearman's rho and Kendall's tau-b of two lists; 0 if one of them is constant. */
type Pairs = ReadonlyArray<readonly [number, number]>

const pearson = (pairs: Pairs): number => {
  const n = pairs.length
  const [a, b] = [0, 1].map((side) => pairs.reduce((sum, pair) => sum + (pair[side] ?? 0), 0) / n) as [number, number]
  let [together, first, second] = [0, 0, 0]
  for (const [x, y] of pairs) {
    together += (x - a) * (y - b)
    first += (x - a) ** 2
    second += (y - b) ** 2
  }
  return first === 0 || second === 0 ? 0 : together / Math.sqrt(first * second)
}

/** Ranks from 1; ties share their mean rank. */
const ranks = (values: ReadonlyArray<number>): ReadonlyArray<number> => {
  const order = Array.from(values.keys()).sort((a, b) => (values[a] ?? 0) - (values[b] ?? 0))
  const places: Array<number> = []
  for (let from = 0; from < order.length;) {
    let to = from
    while (to + 1 < order.length && values[order[to + 1] ?? 0] === values[order[from] ?? 0]) to++
    for (let at = from; at <= to; at++) places[order[at] ?? 0] = (from + to) / 2 + 1
    from = to + 1
  }
  return places
}

const spearman = (pairs: Pairs): number => {
  const [a, b] = [ranks(pairs.map(([x]) => x)), ranks(pairs.map(([, y]) => y))]
  return pearson(a.map((rank, at) => [rank, b[at] ?? 0]))
}

const kendall = (pairs: Pairs): number => {
  let [agree, first, second] = [0, 0, 0]
  pairs.forEach(([x, y], i) => {
    for (const [u, v] of pairs.slice(i + 1)) {
      const [a, b] = [Math.sign(x - u), Math.sign(y - v)]
      agree += a * b
      first += Math.abs(a)
      second += Math.abs(b)
    }
  })
  return first === 0 || second === 0 ? 0 : agree / Math.sqrt(first * second)
}

/** Kendall's tau takes quadratic time. */
const maxKendallItems = 5_000

/** All correlations; empty for fewer than two pairs. */
export const correlations = (pairs: Pairs): { readonly [name: string]: number } =>
  pairs.length < 2
    ? {}
    : {
        pearson: pearson(pairs),
        spearman: spearman(pairs),
        ...(pairs.length <= maxKendallItems && { kendall: kendall(pairs) })
      }

export interface Figure {
  readonly value: number
  readonly stderr?: number
  readonly interval?: readonly [lower: number, upper: number]
  /** Number of items, or the sum of their weights. */
  readonly count: number
}

export interface Figures {
  /** By name, the main score first. */
  readonly scores: { readonly [name: string]: Figure }
  /** pass@k, maj@k, and other metrics of several samples. */
  readonly derived: { readonly [name: string]: Figure }
  readonly categories: { readonly [category: string]: Figure }
  /** Shares of all samples that were unparsed and truncated. */
  readonly unreadable: number
  readonly cut: number
}

type Items = ReadonlyArray<ReadonlyArray<Samples.Sample>>

const isShare = (value: number): boolean => value >= 0 && value <= 1

const shareFigure = (values: ReadonlyArray<number>, trials: number): Figure => {
  const { interval, stderr, value } = Evaluation.share(Evaluation.sharesOf(values, trials))
  return {
    value,
    ...(stderr !== undefined && { stderr }),
    interval: [interval.lower, interval.upper],
    count: values.length
  }
}

export const figureOf = (values: ReadonlyArray<number>, trials: number): Figure | undefined => {
  if (values.length === 0) return undefined
  if (values.every(isShare)) return shareFigure(values, trials)
  const interval = Evaluation.confidenceInterval(values)
  return {
    value: Evaluation.mean(values),
    ...(values.length > 1 && { stderr: Evaluation.standardError(values) }),
    ...(interval !== undefined && { interval: [interval.lower, interval.upper] as const }),
    count: values.length
  }
}

/** The mean weighted by `weights`. */
const weighted = (name: string, items: Items): Figure => {
  const all = items
    .flat()
    .map(({ rewards, weights }) => ({ value: rewards?.[name] ?? 0, weight: weights?.[name] ?? 0 }))
  const count = all.reduce((sum, { weight }) => sum + weight, 0)
  if (count === 0) return { value: 0, count }
  const value = all.reduce((total, one) => total + one.value * one.weight, 0) / count
  const trials = count ** 2 / all.reduce((sum, { weight }) => sum + weight ** 2, 0)
  const { lower, upper } = Evaluation.wilson(value * trials, trials)
  return { value, interval: [lower, upper], count }
}

const trialsOf = (items: Items, k: number): number =>
  items.reduce((sum, samples) => sum + Math.floor(samples.length / k), 0)

const scoreFigure = (name: string, items: Items): Figure | undefined => {
  const having = items.map((samples) => samples.filter(({ rewards }) => rewards?.[name] !== undefined))
  const some = having.filter((samples) => samples.length > 0)
  if (some.some(([first]) => first?.weights?.[name] !== undefined)) return weighted(name, some)
  return figureOf(
    some.map((samples) => Evaluation.mean(samples.map(({ rewards }) => rewards?.[name] ?? 0))),
    trialsOf(some, 1)
  )
}

/** Returns true if the most frequent answer is correct. */
export const isMajorityRight = (samples: ReadonlyArray<Samples.Sample>): boolean => {
  const votes = new Map<string, number>()
  for (const { correct, parsed } of samples) {
    if (!correct && (parsed === null || parsed === undefined)) continue
    const answer = correct ? "right" : `wrong:${parsed?.trim().toLowerCase() ?? ""}`
    votes.set(answer, (votes.get(answer) ?? 0) + 1)
  }
  let best: string | undefined
  for (const [answer, count] of votes) if (count > (best === undefined ? 0 : (votes.get(best) ?? 0))) best = answer
  return best === "right"
}

const blocks = <A>(values: ReadonlyArray<A>, k: number): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from({ length: Math.floor(values.length / k) }, (_, at) => values.slice(at * k, at * k + k))

/** 2, 4, … and the min number of answers per item. */
const ksOf = (items: Items): ReadonlyArray<number> => {
  const min = items.length === 0 ? 0 : Math.min(...items.map(({ length }) => length))
  const ks: Array<number> = []
  for (let k = 2; k < min; k *= 2) ks.push(k)
  return min > 1 ? [...ks, min] : []
}

const ofSeveral = (items: Items): ReadonlyArray<readonly [name: string, figure: Figure]> =>
  ksOf(items).flatMap((k) => {
    const trials = trialsOf(items, k)
    const pass = items.map((samples) =>
      Evaluation.passAtK(samples.length, samples.filter(({ correct }) => correct).length, k)
    )
    const majority = items.map((samples) =>
      Evaluation.mean(blocks(samples, k).map((block) => (isMajorityRight(block) ? 1 : 0)))
    )
    return [
      [`pass@${k}`, shareFigure(pass, trials)],
      ...(k > 2 ? [[`maj@${k}`, shareFigure(majority, trials)] as const] : [])
    ] as const
  })

/** The share of rows of several items (both orders of a pair, several grids) in which every item is correct. */
const wholeRows = (items: Items): ReadonlyArray<readonly [name: string, figure: Figure]> => {
  const rows = new Map<string, Array<number>>()
  for (const samples of items) {
    const row = samples[0]?.row ?? ""
    rows.set(row, [...(rows.get(row) ?? []), Evaluation.mean(samples.map(({ correct }) => (correct ? 1 : 0)))])
  }
  const all = [...rows.values()]
  if (all.every(({ length }) => length === 1)) return []
  const right = all.map((shares) => shares.reduce((product, share) => product * share, 1))
  return [["whole_rows", shareFigure(right, right.length)]]
}

/** Correlations of ratings with references, if both are numbers. */
const ofRatings = (items: Items): ReadonlyArray<readonly [name: string, figure: Figure]> => {
  const pairs = items.flatMap((samples) =>
    samples.flatMap(({ gold, parsed }) => {
      const [answered, target] = [Number(parsed ?? Number.NaN), Number(gold?.[0] ?? Number.NaN)]
      return Number.isFinite(answered) && Number.isFinite(target) ? [[answered, target] as const] : []
    })
  )
  return Object.entries(correlations(pairs)).map(([name, value]) => [name, { value, count: pairs.length }])
}

const defined = (entries: ReadonlyArray<readonly [string, Figure | undefined]>) =>
  Object.fromEntries(entries.flatMap(([name, figure]) => (figure === undefined ? [] : [[name, figure] as const])))

/** The metrics of samples; `main` names the main score, `isRating` is true if answers are ratings. */
export const of = (
  samples: ReadonlyArray<Samples.Sample>,
  { isRating = false, main }: { readonly main: string; readonly isRating?: boolean }
): Figures => {
  const items = [...Comparison.byItem(samples).values()]
  const names = Array.from(new Set([main, ...samples.flatMap(({ rewards }) => Object.keys(rewards ?? {}))]))
  const categories = Array.from(new Set(items.flatMap(([first]) => first?.category ?? []))).sort()
  const shareOf = (is: (sample: Samples.Sample) => boolean) =>
    samples.length === 0 ? 0 : samples.filter(is).length / samples.length
  return {
    scores: defined(names.map((name) => [name, scoreFigure(name, items)])),
    derived: Object.fromEntries([...ofSeveral(items), ...wholeRows(items), ...(isRating ? ofRatings(items) : [])]),
    categories: defined(
      categories.map((category) => [
        category,
        scoreFigure(
          main,
          items.filter(([first]) => first?.category === category)
        )
      ])
    ),
    unreadable: shareOf(({ parsed }) => parsed === null),
    cut: shareOf(({ finish_reason: reason }) => reason === "length")
  }
}
