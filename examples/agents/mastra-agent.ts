// mastra-agent.ts
import { defineAgent } from "@atropos/envs"
import { Agent } from "@mastra/core/agent"
import { createTool } from "@mastra/core/tools"
import { z } from "zod"

const fruits: Record<string, number> = { apples: 12, pears: 0, plums: 7 }

const stock = createTool({
  id: "stock",
  description: "How many of a fruit are in stock",
  inputSchema: z.object({ fruit: z.string() }),
  execute: async ({ fruit }) => String(fruits[fruit] ?? "unknown")
})

export default defineAgent({
  name: "mastra-agent",
  items: Object.entries(fruits).map(([fruit, count]) => ({ question: `How many ${fruit}?`, answer: String(count) })),
  run: async ({ item, model, signal }) => {
    const agent = new Agent({
      id: "clerk",
      name: "clerk",
      instructions: "Look into the stock.",
      model: { id: `atropos/${model.name}`, url: model.baseURL, apiKey: model.apiKey },
      tools: { stock }
    })
    const { text } = await agent.generate(item.question, { maxSteps: 4, abortSignal: signal })
    return text
  },
  score: ({ item, result }) => ({ correct: result.includes(item.answer) ? 1 : 0 })
})
