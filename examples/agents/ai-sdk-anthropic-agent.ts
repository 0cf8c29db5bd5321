// ai-sdk-anthropic-agent.ts
import { createAnthropic } from "@ai-sdk/anthropic"
import { defineAgent } from "@atropos/envs"
import { generateText, stepCountIs, tool } from "ai"
import { z } from "zod"

const stock: Record<string, number> = { apples: 12, pears: 0, plums: 7 }

const lookUp = tool({
  description: "How many of a fruit are in stock",
  inputSchema: z.object({ fruit: z.string() }),
  execute: async ({ fruit }) => stock[fruit] ?? "unknown"
})

export default defineAgent({
  name: "ai-sdk-anthropic-agent",
  items: Object.entries(stock).map(([fruit, count]) => ({ question: `How many ${fruit}?`, answer: String(count) })),
  run: async ({ item, model, signal }) => {
    const anthropic = createAnthropic({ baseURL: model.baseURL, apiKey: model.apiKey })
    const { text } = await generateText({
      model: anthropic(model.name),
      system: "Look into the stock.",
      prompt: item.question,
      tools: { stock: lookUp },
      stopWhen: stepCountIs(4),
      maxOutputTokens: 256,
      abortSignal: signal
    })
    return text
  },
  score: ({ item, result }) => ({ correct: result.includes(item.answer) ? 1 : 0 })
})
