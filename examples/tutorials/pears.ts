// pears.ts
import { defineEnvironment } from "@atropos/envs"

const ask = "Solve the problem. Think briefly, then give the final number as \\boxed{number}."

export default defineEnvironment({
  name: "pears",
  items: Array.from({ length: 200 }, (_, n) => ({
    question: `Mia has ${n % 20} pears. Mia finds ${1 + Math.floor(n / 20)} more pears. How many pears does Mia have now?`,
    answer: (n % 20) + 1 + Math.floor(n / 20)
  })),
  collectTrajectories: ({ item, model, count }) =>
    model.chat([{ role: "user", content: `${ask} ${item.question}` }], { n: count }),
  score: ({ item, trajectories }) =>
    trajectories.map(({ completion }) => (completion.includes(`\\boxed{${item.answer}}`) ? 1 : 0)),
  scoreRange: [0, 1]
})
