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
export const all = (pairs: Pairs): { readonly [name: string]: number } =>
  pairs.length < 2
    ? {}
    : {
        pearson: pearson(pairs),
        spearman: spearman(pairs),
        ...(pairs.length <= maxKendallItems && { kendall: kendall(pairs) })
      }
