// doubles.ts
import { defineEnvironment } from "@atropos/envs"

export default defineEnvironment({
  name: "doubles",
  items: [1, 2, 3, 4],
  collectTrajectories: ({ item, model, count }) =>
    model.chat([{ role: "user", content: `What is ${item} + ${item}?` }], { n: count }),
  score: ({ item, trajectories }) => trajectories.map(({ completion }) => (completion.includes(`${2 * item}`) ? 1 : 0))
})
