/**
 * Constraints to combine, each with its part of a sample answer. Those of one slot exclude each other; other exclusions
 * are in `conflicts`.
 */
import type { SeededRandom } from "@atropos/core"
import * as Case from "./Case.ts"
import * as Combination from "./Combination.ts"
import type { Constraint } from "./Constraint.ts"
import * as Content from "./Content.ts"
import * as Counting from "./Counting.ts"
import * as Draft from "./Draft.ts"
import * as Edges from "./Edges.ts"
import * as Format from "./Format.ts"
import * as Keywords from "./Keywords.ts"
import * as Length from "./Length.ts"
import * as Stock from "./Stock.ts"

type Random = SeededRandom.SeededRandom

export interface Feature {
  readonly constraint: Constraint
  readonly add: (draft: Draft.Draft) => Draft.Draft
}

type Draw = (random: Random) => Feature

const feature = (constraint: Constraint, change: Partial<Draft.Draft>): Feature => ({
  constraint,
  add: (draft) => ({ ...draft, ...change })
})

const adding = (
  constraint: Constraint,
  list: "required" | "afterFirst" | "afterLast",
  texts: ReadonlyArray<string>
): Feature => ({
  constraint,
  add: (draft) => ({ ...draft, [list]: [...draft[list], ...texts] })
})

const finishing = (constraint: Constraint, change: (text: string) => string): Feature => ({
  constraint,
  add: (draft) => ({ ...draft, finish: (text) => change(draft.finish(text)) })
})

const times = (count: number, text: (number: number) => string): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, index) => text(index + 1))

const quantifiers = ["at least", "around", "at most"] as const

/** All except the length, by slot. */
export const slots: { readonly [slot: string]: ReadonlyArray<Draw> } = {
  layout: [
    (random) => {
      const N = random.between(2, 5)
      return feature(Length.dividedParagraphs.make({ N }), { layout: { of: "divided", parts: N } })
    },
    (random) => {
      const N = random.between(2, 5)
      const i = random.between(1, N)
      const first = random.pick(Stock.firstWords)
      const layout = { of: "paragraphs", parts: N, at: i, first } as const
      return feature(Length.firstWord.make({ N, i, first_word: first }), { layout })
    },
    (random) => {
      const N = random.between(2, 6)
      return feature(Format.bullets.make({ N }), { layout: { of: "bullets", parts: N } })
    },
    (random) => {
      const N = random.between(2, 5)
      const splitter = random.pick(Stock.splitters)
      return feature(Format.sections.make({ N, section_splitter: splitter }), {
        layout: { of: "sections", parts: N, splitter }
      })
    },
    () => feature(Combination.twoResponses.make({}), { layout: { of: "two" } })
  ],
  words: [
    (random) => {
      const [first, ...more] = random.sample(Stock.keywords, random.between(1, 3))
      const words = [first!, ...more] as const
      return adding(
        Keywords.keywords.make({ keyword_list: words }),
        "required",
        words.map((word) => `We think of the ${word}.`)
      )
    },
    (random) => {
      const word = random.pick(Stock.keywords)
      const N = random.between(1, 4)
      return adding(
        Keywords.keywordFrequency.make({ word, N }),
        "required",
        times(N, () => `Here is the ${word}.`)
      )
    },
    (random) => {
      const [first, ...more] = random.sample(Stock.avoided, random.between(1, 4))
      return feature(Keywords.forbiddenWords.make({ forbidden_words: [first!, ...more] }), {})
    },
    (random) => {
      const [letter, word] = random.pick(Stock.rareLetters)
      const N = random.between(1, 4)
      return adding(
        Keywords.letterFrequency.make({ letter, N }),
        "required",
        times(N, () => `We saw a ${word}.`)
      )
    }
  ],
  marks: [
    () => adding(Format.title.make({}), "afterFirst", ["<<A day by the water>>"]),
    (random) => {
      const N = random.between(1, 4)
      return adding(
        Content.placeholders.make({ N }),
        "required",
        times(N, (number) => `Ask for [detail ${number}].`)
      )
    },
    (random) => {
      const N = random.between(1, 4)
      return adding(
        Format.highlights.make({ N }),
        "required",
        times(N, (number) => `Note *point ${number}* well.`)
      )
    }
  ],
  ending: [
    (random) => {
      const marker = random.pick(["P.S.", "P.P.S"])
      return adding(Content.postscript.make({ postscript_marker: marker }), "afterLast", [
        `${marker} Bring a warm coat.`
      ])
    },
    (random) => {
      const end = random.pick(Stock.ends)
      return adding(Edges.endPhrase.make({ end_phrase: end }), "afterLast", [end])
    },
    () => finishing(Edges.quotation.make({}), (text) => `"${text}"`)
  ],
  case: [
    () => finishing(Case.uppercase.make({}), (text) => text.toUpperCase()),
    () => finishing(Case.lowercase.make({}), (text) => text.toLowerCase()),
    (random) => {
      const N = random.between(1, 4)
      const quantifier = random.pick(quantifiers)
      const words = random.sample(Stock.capitals, N)
      return adding(
        Case.capitalWords.make({ N, quantifier }),
        "required",
        words.map((word) => `A sign says ${word}.`)
      )
    }
  ],
  commas: [() => feature(Edges.noCommas.make({}), {})]
}

/** The word count of a text that meets all other constraints, or nearly. */
export const wordsOf = (random: Random, text: string): Constraint => {
  const count = Counting.words(text).length
  return random.chance(0.5)
    ? Length.wordCount.make({ N: count, quantifier: "around" })
    : Length.wordCount.make({ N: Math.max(1, count - random.between(0, 5)), quantifier: "at least" })
}

/** The sentence count of a text that meets all other constraints, or a few more or fewer. */
export const sentencesOf = (random: Random, text: string): Constraint => {
  const count = Counting.sentences(text).length
  const quantifier = random.pick(quantifiers)
  const off = random.between(0, 2)
  const N = quantifier === "at least" ? count - off : quantifier === "at most" ? count + off : count
  return Length.sentenceCount.make({ N: Math.max(1, N), quantifier })
}

/** Pairs that contradict each other by the case of letters. */
export const conflicts: ReadonlyArray<readonly [one: string, other: string]> = [
  ["validate_uppercase", "validate_end"],
  ["validate_lowercase", "validate_end"],
  ["validate_lowercase", "verify_postscript"],
  ["validate_uppercase", "verify_letter_frequency"]
]
