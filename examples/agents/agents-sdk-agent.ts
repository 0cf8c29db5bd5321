// agents-sdk-agent.ts
import { defineAgent } from "@atropos/envs"
import { Agent, OpenAIProvider, Runner, tool } from "@openai/agents"
import { z } from "zod"

const stock: Record<string, number> = { apples: 12, pears: 0, plums: 7 }

const lookUp = tool({
  name: "stock",
  description: "How many of a fruit are in stock",
  parameters: z.object({ fruit: z.string() }),
  execute: async ({ fruit }) => String(stock[fruit] ?? "unknown")
})

const clerk = new Agent({ name: "clerk", instructions: "Look into the stock.", tools: [lookUp] })
const desk = new Agent({ name: "desk", instructions: "Hand questions over to who can answer.", handoffs: [clerk] })

export default defineAgent({
  name: "agents-sdk-agent",
  items: Object.entries(stock).map(([fruit, count]) => ({ question: `How many ${fruit}?`, answer: String(count) })),
  run: async ({ item, model, signal }) => {
    const runner = new Runner({
      model: model.name,
      modelProvider: new OpenAIProvider({ baseURL: model.baseURL, apiKey: model.apiKey }),
      tracingDisabled: true
    })
    const result = await runner.run(desk, item.question, { signal, maxTurns: 6 })
    return result.finalOutput ?? "no answer"
  },
  score: ({ item, result }) => ({ correct: result.includes(item.answer) ? 1 : 0 })
})
