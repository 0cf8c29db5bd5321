/**
 * Computes the edit distance of trees: nodes inserted, removed or changed, with a discount for whole subtrees.
 *
 * The algorithm of Zhang and Shasha (1989, https://doi.org/10.1137/0218082), extended by removing and inserting
 * subtrees at min(n, 0.6·(n - 5) + 5) for n nodes, as in PHYBench's expression edit distance (Qiu et al. 2025,
 * https://arxiv.org/abs/2504.16074). Cost: at most the product of the sizes times that of the depths.
 */
import type { Tree } from "./ExpressionTree.ts"

const discountFrom = 5
const discount = 0.6

interface Flat {
  /** In postorder. */
  readonly labels: ReadonlyArray<string>
  /** Leftmost leaf under each node. */
  readonly leftmost: ReadonlyArray<number>
  /** Cost of removing the whole subtree. */
  readonly costs: ReadonlyArray<number>
  /** Roots of the subtrees that are compared separately. */
  readonly keys: ReadonlyArray<number>
}

export const size = ({ children }: Tree): number => children.reduce((sum, child) => sum + size(child), 1)

const flat = (tree: Tree): Flat => {
  const [labels, leftmost, costs] = [[] as Array<string>, [] as Array<number>, [] as Array<number>]
  const visit = (node: Tree): number => {
    const places = node.children.map(visit)
    const at = labels.length
    labels.push(node.label)
    leftmost.push(places[0] === undefined ? at : leftmost[places[0]]!)
    const nodes = size(node)
    costs.push(nodes === 1 ? 1 : Math.min(nodes, discount * (nodes - discountFrom) + discountFrom))
    return at
  }
  visit(tree)
  const last = new Map(leftmost.map((leaf, at) => [leaf, at]))
  return { labels, leftmost, costs, keys: [...last.values()].sort((a, b) => a - b) }
}

export const between = (one: Tree, other: Tree): number => {
  const [a, b] = [flat(one), flat(other)]
  const [m, n] = [a.labels.length, b.labels.length]
  const trees = Array.from({ length: m }, () => new Float64Array(n))
  const forests = Array.from({ length: m + 1 }, () => new Float64Array(n + 1).fill(1000))
  const forest = (i: number, j: number): number => forests[i]?.[j] ?? 0
  const compare = (x: number, y: number): void => {
    const [left, top] = [a.leftmost[x]!, b.leftmost[y]!]
    forests[left]![top] = 0
    for (let i = left; i <= x; i++) forests[i + 1]![top] = forest(a.leftmost[i]!, top) + a.costs[i]!
    for (let j = top; j <= y; j++) forests[left]![j + 1] = forest(left, b.leftmost[j]!) + b.costs[j]!
    for (let i = left; i <= x; i++) {
      for (let j = top; j <= y; j++) {
        const [p, q] = [a.leftmost[i]!, b.leftmost[j]!]
        const least = Math.min(
          forest(i, j + 1) + 1,
          forest(i + 1, j) + 1,
          forest(p, j + 1) + a.costs[i]!,
          forest(i + 1, q) + b.costs[j]!
        )
        const isWhole = p === left && q === top
        const changed = isWhole
          ? forest(i, j) + (a.labels[i] === b.labels[j] ? 0 : 1)
          : forest(p, q) + (trees[i]?.[j] ?? 0)
        forests[i + 1]![j + 1] = Math.min(least, changed)
        if (isWhole) trees[i]![j] = Math.min(least, changed)
      }
    }
  }
  for (const x of a.keys) for (const y of b.keys) compare(x, y)
  return trees[m - 1]?.[n - 1] ?? 0
}
