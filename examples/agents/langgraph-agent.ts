// langgraph-agent.ts
import { defineAgent } from "@atropos/envs"
import { tool } from "@langchain/core/tools"
import { createReactAgent } from "@langchain/langgraph/prebuilt"
import { ChatOpenAI } from "@langchain/openai"
import { z } from "zod"

const fruits: Record<string, number> = { apples: 12, pears: 0, plums: 7 }

const stock = tool(({ fruit }: { readonly fruit: string }) => String(fruits[fruit] ?? "unknown"), {
  name: "stock",
  description: "How many of a fruit are in stock",
  schema: z.object({ fruit: z.string() })
})

export default defineAgent({
  name: "langgraph-agent",
  items: Object.entries(fruits).map(([fruit, count]) => ({ question: `How many ${fruit}?`, answer: String(count) })),
  run: async ({ item, model, signal }) => {
    const llm = new ChatOpenAI({
      model: model.name,
      apiKey: model.apiKey,
      configuration: { baseURL: model.baseURL }
    })
    const agent = createReactAgent({ llm, tools: [stock], prompt: "Look into the stock." })
    const { messages } = await agent.invoke({ messages: [{ role: "user", content: item.question }] }, { signal })
    return messages.at(-1)?.text ?? "no answer"
  },
  score: ({ item, result }) => ({ correct: result.includes(item.answer) ? 1 : 0 })
})
