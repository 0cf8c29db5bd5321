// ai-sdk-loop-agent.ts
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { defineAgent } from "@atropos/envs"
import { type LanguageModel, stepCountIs, tool, ToolLoopAgent } from "ai"
import { z } from "zod"

const fruits: Record<string, number> = { apples: 12, pears: 0, plums: 7 }

/** The application's agent: a call may name another model. */
const clerk = new ToolLoopAgent({
  model: "openai/gpt-5",
  instructions: "Look into the stock.",
  tools: {
    stock: tool({
      description: "How many of a fruit are in stock",
      inputSchema: z.object({ fruit: z.string() }),
      execute: async ({ fruit }) => String(fruits[fruit] ?? "unknown")
    })
  },
  stopWhen: stepCountIs(4),
  callOptionsSchema: z.object({ model: z.custom<LanguageModel>() }).optional(),
  prepareCall: ({ options, ...call }) => ({ ...call, ...options })
})

export default defineAgent({
  name: "ai-sdk-loop-agent",
  items: Object.entries(fruits).map(([fruit, count]) => ({ question: `How many ${fruit}?`, answer: String(count) })),
  run: async ({ item, model, signal }) => {
    const provider = createOpenAICompatible({ name: "atropos", baseURL: model.baseURL, apiKey: model.apiKey })
    const { text } = await clerk.generate({
      prompt: item.question,
      options: { model: provider(model.name) },
      abortSignal: signal
    })
    return text
  },
  score: ({ item, result }) => ({ correct: result.includes(item.answer) ? 1 : 0 })
})
