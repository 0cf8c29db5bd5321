/**
 * Trees of regular expressions, as grammars that XGrammar compiles and follows in bounded time.
 *
 * Repetitions of repetitions become one, and what is repeated is never empty. A repetition is rejected if what it
 * repeats can go on with a character that also begins it (`([a-z]+ ?)*`): the library then follows all ways to divide a
 * text, whose number grows without bound, for every token of the vocabulary.
 */
import * as Ebnf from "./Ebnf.ts"
import * as StringRules from "./StringRules.ts"

export class Unsupported extends Error {}

/** A tree; undefined matches nothing. */
export type Tree =
  | { readonly _tag: "Characters"; readonly ranges: Ebnf.Ranges }
  | { readonly _tag: "Sequence"; readonly parts: ReadonlyArray<Tree> }
  | { readonly _tag: "Choice"; readonly parts: ReadonlyArray<Tree> }
  /** Of a tree that is never empty; `to` undefined: unbounded. */
  | { readonly _tag: "Repeat"; readonly one: Tree; readonly from: number; readonly to: number | undefined }

export const empty: Tree = { _tag: "Sequence", parts: [] }

/** Max number of places that can end where they can go on. */
const maxOpenEnds = 10

/** One more repetition of such a part keeps as many ways open as this number of places. */
const openEndsOfRepetition = 5

/** Max length of an expression that is written at each of its places. */
const maxInline = 80

export const characters = (ranges: Ebnf.Ranges): Tree | undefined =>
  ranges.length === 0 ? undefined : { _tag: "Characters", ranges }

export const sequence = (parts: ReadonlyArray<Tree | undefined>): Tree | undefined => {
  const all = parts.filter((part) => part !== undefined)
  if (all.length < parts.length) return undefined
  return all.length === 1 ? all[0] : { _tag: "Sequence", parts: all.filter((part) => part !== empty) }
}

export const choice = (parts: ReadonlyArray<Tree | undefined>): Tree | undefined => {
  const all = parts.filter((part) => part !== undefined)
  return all.length < 2 ? all[0] : { _tag: "Choice", parts: all }
}

const isEmptyPossible = (tree: Tree): boolean => {
  switch (tree._tag) {
    case "Characters":
      return false
    case "Sequence":
      return tree.parts.every(isEmptyPossible)
    case "Choice":
      return tree.parts.some(isEmptyPossible)
    case "Repeat":
      return tree.from === 0
  }
}

/** The tree without the empty text. */
const notEmpty = (tree: Tree): Tree | undefined => {
  if (!isEmptyPossible(tree)) return tree
  switch (tree._tag) {
    case "Characters":
      return tree
    case "Sequence":
      // By the first part that is not empty.
      return choice(tree.parts.map((part, at) => sequence([notEmpty(part), ...tree.parts.slice(at + 1)])))
    case "Choice":
      return choice(tree.parts.map(notEmpty))
    case "Repeat":
      return repeat(tree.one, 1, tree.to)
  }
}

const product = (a: number | undefined, b: number | undefined): number | undefined =>
  a === 0 || b === 0 ? 0 : a === undefined || b === undefined ? undefined : a * b

export const repeat = (given: Tree | undefined, from: number, to: number | undefined): Tree | undefined => {
  if (to === 0) return empty
  if (given === undefined) return from === 0 ? empty : undefined
  const one = notEmpty(given)
  if (one === undefined) return empty
  const least = one === given ? from : 0
  if (least === 1 && to === 1) return one
  if (one._tag === "Repeat") {
    // Merged where the counts of k and of k + 1 repetitions leave no gap between them.
    const spread = one.to === undefined ? Infinity : one.to - one.from
    const isGapless = least === 0 ? one.from === 1 : least === to || least * spread >= one.from - 1
    if (isGapless) return { _tag: "Repeat", one: one.one, from: one.from * least, to: product(one.to, to) }
  }
  return { _tag: "Repeat", one, from: least, to }
}

/** Ends of a tree of which a search needs fewer repetitions, because any text may precede or follow. */
export const trim = (tree: Tree, isStart: boolean, isEnd: boolean): Tree => {
  if (tree._tag === "Repeat") {
    const { from, one } = tree
    return isStart && isEnd ? tree : (repeat(one, from, from) ?? empty)
  }
  if (tree._tag !== "Sequence") return tree
  const parts = tree.parts.map((part, at) => {
    const isFree = (at === 0 && !isStart) || (at === tree.parts.length - 1 && !isEnd)
    return isFree && part._tag === "Repeat" ? (repeat(part.one, part.from, part.from) ?? empty) : part
  })
  return sequence(parts) ?? empty
}

const union = (...all: ReadonlyArray<Ebnf.Ranges>): Ebnf.Ranges => StringRules.without(StringRules.without(all.flat()))

const overlaps = (one: Ebnf.Ranges, other: Ebnf.Ranges): boolean =>
  one.some(([from, to]) => other.some(([low, high]) => from <= high && low <= to))

interface Facts {
  /** Characters that may begin it. */
  readonly first: Ebnf.Ranges
  /** Characters by which a text that is whole may go on inside of it. */
  readonly next: Ebnf.Ranges
  /** Number of places in it that can end where they can go on. */
  readonly openEnds: number
}

const bounded = (facts: Facts): Facts => {
  if (facts.openEnds <= maxOpenEnds) return facts
  throw new Unsupported("repeated parts that can end and go on with the same character; separate the parts")
}

/** Rejects trees with too many parts that have no certain end. */
const examine = (tree: Tree): Facts => {
  switch (tree._tag) {
    case "Characters":
      return { first: tree.ranges, next: [], openEnds: 0 }
    case "Choice": {
      const all = tree.parts.map(examine)
      const first = union(...all.map((one) => one.first))
      const next = union(...all.map((one) => one.next))
      const openEnds = Math.max(...all.map((one) => one.openEnds))
      return { first, next: isEmptyPossible(tree) ? union(first, next) : next, openEnds }
    }
    case "Repeat": {
      const { first, next, openEnds } = examine(tree.one)
      const { from, to = Infinity } = tree
      return bounded({
        first,
        next: from === to ? next : union(next, first),
        openEnds: openEnds + (overlaps(next, first) ? openEndsOfRepetition * (to - 1) : 0)
      })
    }
    case "Sequence": {
      let all: Facts = { first: [], next: [], openEnds: 0 }
      let isEmpty = true
      for (const part of tree.parts) {
        const one = examine(part)
        const canSkip = isEmptyPossible(part)
        all = bounded({
          first: isEmpty ? union(all.first, one.first) : all.first,
          next: canSkip ? union(all.next, one.next, one.first) : one.next,
          openEnds: all.openEnds + one.openEnds + (overlaps(all.next, one.first) ? 1 : 0)
        })
        isEmpty &&= canSkip
      }
      return all
    }
  }
}

/** Writes a tree; what is repeated becomes a rule, which the library compiles once instead of for every repetition. */
export const write = (tree: Tree, rules: Ebnf.Rules): Ebnf.Expression => {
  const expression = (one: Tree): Ebnf.Expression => {
    switch (one._tag) {
      case "Characters": {
        const written = StringRules.character(one.ranges)!
        return written.length > maxInline ? rules.part(written) : written
      }
      case "Sequence":
        return Ebnf.sequence(...one.parts.map(expression))
      case "Choice":
        return Ebnf.choice(one.parts.map(expression))!
      case "Repeat": {
        const body = expression(one.one)
        return rules.counted((one.to ?? one.from) > 1 ? rules.part(body) : body, one.from, one.to)
      }
    }
  }
  examine(tree)
  return expression(tree)
}
