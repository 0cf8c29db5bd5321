/** The built-in environments, by name. */
import * as Addition from "./Addition.ts"
import * as ArithmeticStories from "./ArithmeticStories.ts"
import * as Gsm8k from "./Gsm8k.ts"
import * as SortLetters from "./SortLetters.ts"

export type { Demonstration } from "./ExactAnswer.ts"
export { Addition, ArithmeticStories, Gsm8k, SortLetters }

/** What `atropos envs` shows and `--env NAME` runs. */
export const registry = {
  addition: {
    layer: Addition.layer,
    description: "sums of two numbers as characters; for models trained from scratch, no download"
  },
  "arithmetic-stories": {
    layer: ArithmeticStories.layer,
    description: "word problems generated from templates; a seed and a difficulty, no download"
  },
  gsm8k: {
    layer: Gsm8k.layer,
    description: "grade-school math word problems (openai/gsm8k), symbolic check of the boxed answer"
  },
  "sort-letters": {
    layer: SortLetters.layer,
    description: "letters of a word in order; for models trained from scratch, no download: the quick start"
  }
} as const
