// anthropic-agent.ts
import Anthropic from "@anthropic-ai/sdk"
import { defineAgent } from "@atropos/envs"

const stock: Record<string, number> = { apples: 12, pears: 0, plums: 7 }

const tools: Array<Anthropic.Tool> = [
  {
    name: "stock",
    description: "How many of a fruit are in stock",
    input_schema: { type: "object", properties: { fruit: { type: "string" } }, required: ["fruit"] }
  }
]

const lookUp = (input: unknown): string =>
  typeof input === "object" && input !== null && "fruit" in input
    ? String(stock[String(input.fruit)] ?? "unknown")
    : "say which fruit"

export default defineAgent({
  name: "anthropic-agent",
  items: Object.entries(stock).map(([fruit, count]) => ({ question: `How many ${fruit}?`, answer: String(count) })),
  run: async ({ item, model, signal }) => {
    const client = new Anthropic({ baseURL: model.anthropicBaseURL, apiKey: model.apiKey })
    const messages: Array<Anthropic.MessageParam> = [{ role: "user", content: item.question }]
    for (let turn = 0; turn < 4; turn++) {
      const { content, stop_reason: reason } = await client.messages.create(
        { model: model.name, max_tokens: 256, system: "Look into the stock.", tools, messages },
        { signal }
      )
      if (reason !== "tool_use") return content.map((block) => (block.type === "text" ? block.text : "")).join("")
      messages.push(
        { role: "assistant", content },
        {
          role: "user",
          content: content
            .filter((block) => block.type === "tool_use")
            .map(({ id, input }) => ({ type: "tool_result", tool_use_id: id, content: lookUp(input) }))
        }
      )
    }
    return "no answer"
  },
  score: ({ item, result }) => ({ correct: result.includes(item.answer) ? 1 : 0 })
})
