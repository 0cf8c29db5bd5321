// ai-sdk-agent.ts
import { defineAgent } from "@atropos/envs"
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { generateText, stepCountIs, tool } from "ai"
import { z } from "zod"

const fruits: Record<string, number> = { apples: 12, pears: 0, plums: 7 }

const stock = tool({
  description: "How many of a fruit are in stock",
  inputSchema: z.object({ fruit: z.string() }),
  execute: async ({ fruit }) => String(fruits[fruit] ?? "unknown")
})

export default defineAgent({
  name: "ai-sdk-agent",
  items: Object.entries(fruits).map(([fruit, count]) => ({ question: `How many ${fruit}?`, answer: String(count) })),
  run: async ({ item, model, signal }) => {
    const provider = createOpenAICompatible({ name: "atropos", baseURL: model.baseURL, apiKey: model.apiKey })
    const { text } = await generateText({
      model: provider(model.name),
      system: "Look into the stock.",
      prompt: item.question,
      tools: { stock },
      stopWhen: stepCountIs(4),
      abortSignal: signal
    })
    return text
  },
  score: ({ item, result }) => ({ correct: result.includes(item.answer) ? 1 : 0 })
})
