/**
 * Splits a word into Unigram's most likely pieces like Python's `tokenizers`: scores are added from the left, and of
 * equal paths to a position the one whose last piece is longest wins. The library compares sums that already contain
 * the next piece, where rounding makes other paths equal.
 */

export interface Vocabulary {
  readonly vocab: ReadonlyArray<readonly [piece: string, score: number]>
  /** Index of the piece of unknown characters. */
  readonly unknown: number | undefined
  /** The pieces that begin at a character, shortest first. */
  readonly beginningAt: (characters: ReadonlyArray<string>, at: number) => Iterable<string>
}

interface Step {
  readonly score: number
  readonly from: number
  readonly isUnknown: boolean
}

/** Score of an unknown character below the worst piece. */
const penalty = 10

/** A function from a word to its pieces; adjacent unknown characters are one. */
export const make = ({ beginningAt, unknown, vocab }: Vocabulary): ((word: string) => ReadonlyArray<string>) => {
  const scores = new Map(vocab)
  let worst = Infinity
  for (const [, score] of vocab) worst = Math.min(worst, score)
  const unknownPiece = unknown === undefined ? undefined : vocab[unknown]?.[0]

  const bestSteps = (characters: ReadonlyArray<string>): ReadonlyArray<Step | undefined> => {
    const steps = Array.from<Step | undefined>({ length: characters.length + 1 })
    const offer = (to: number, step: Step): void => {
      const known = steps[to]
      if (known === undefined || step.score > known.score) steps[to] = step
    }
    for (let from = 0; from < characters.length; from++) {
      const before = steps[from]?.score ?? 0
      for (const piece of beginningAt(characters, from)) {
        const score = (scores.get(piece) ?? 0) + before
        offer(from + Array.from(piece).length, { score, from, isUnknown: piece === unknownPiece })
      }
      if (!scores.has(characters[from]!)) offer(from + 1, { score: worst - penalty + before, from, isUnknown: true })
    }
    return steps
  }

  return (word) => {
    const characters = Array.from(word)
    const steps = bestSteps(characters)
    const pieces: Array<string> = []
    let wasUnknown = false
    for (let to = characters.length; to > 0; to = steps[to]!.from) {
      const { from, isUnknown } = steps[to]!
      const piece = characters.slice(from, to).join("")
      const joins = isUnknown && wasUnknown && unknown !== undefined
      pieces.push(joins ? piece + (pieces.pop() ?? "") : piece)
      wasUnknown = isUnknown
    }
    return pieces.toReversed()
  }
}
