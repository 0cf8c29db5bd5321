/** The built-in environments, by name. */
import * as ArithmeticStories from "./ArithmeticStories.ts"
import * as Gsm8k from "./Gsm8k.ts"

export { ArithmeticStories, Gsm8k }

/** What `atropos envs` shows and `--env NAME` runs. */
export const registry = {
  "arithmetic-stories": {
    layer: ArithmeticStories.layer,
    description: "word problems generated from templates; a seed and a difficulty, no download"
  },
  gsm8k: {
    layer: Gsm8k.layer,
    description: "grade-school math word problems (openai/gsm8k), symbolic check of the boxed answer"
  }
} as const
