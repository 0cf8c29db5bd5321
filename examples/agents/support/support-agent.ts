// support-agent.ts
import { defineAgent } from "@atropos/envs"
import { myAgent } from "./my-agent.ts"

export default defineAgent({
  name: "support-agent",
  items: "tickets.jsonl", // a file, a data set of the hub, an array or a generator
  run: async ({ item, model, signal }) =>
    myAgent(item.question, { baseURL: model.baseURL, apiKey: model.apiKey, model: model.name, signal }),
  score: async ({ item, result, messages }) => ({
    correct: result.includes(item.answer) ? 1 : 0,
    brief: messages.length < 8 ? 1 : 0
  })
})
