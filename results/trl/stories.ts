/**
 * Answers that fill their limit, to compare speed and memory with TRL (grpo.py) at longer answers: a story, scored by
 * its number of different words.
 */
import { defineEnvironment } from "@atropos/envs"
import { training } from "../../examples/models/capitals.ts"

const variety = (text: string): number => Math.min(1, new Set(text.toLowerCase().match(/[a-z]+/g)).size / 300)

export default defineEnvironment({
  name: "stories",
  items: training.map(({ country }) => ({ question: `Write a long story about a journey through ${country}.` })),
  collectTrajectories: ({ item, model, count }) =>
    model.chat([{ role: "user", content: item.question }], { n: count, temperature: 1 }),
  score: ({ trajectories }) => trajectories.map(({ completion }) => variety(completion)),
  scoreRange: [0, 1]
})
