// openai-agent.ts
import { defineAgent } from "@atropos/envs"
import OpenAI from "openai"

const stock: Record<string, number> = { apples: 12, pears: 0, plums: 7 }

const tools: OpenAI.Responses.FunctionTool[] = [
  {
    type: "function",
    name: "stock",
    description: "How many of a fruit are in stock",
    parameters: { type: "object", properties: { fruit: { type: "string" } }, required: ["fruit"] },
    strict: false
  }
]

export default defineAgent({
  name: "openai-agent",
  items: Object.entries(stock).map(([fruit, count]) => ({ question: `How many ${fruit}?`, answer: String(count) })),
  run: async ({ item, model, signal }) => {
    const client = new OpenAI({ baseURL: model.baseURL, apiKey: model.apiKey })
    let input: OpenAI.Responses.ResponseInput = [{ role: "user", content: item.question }]
    let previous: string | null = null
    for (let turn = 0; turn < 4; turn++) {
      const response: OpenAI.Responses.Response = await client.responses.create(
        { model: model.name, instructions: "Look into the stock.", tools, input, previous_response_id: previous },
        { signal }
      )
      const calls = response.output.filter((one) => one.type === "function_call")
      if (calls.length === 0) return response.output_text
      previous = response.id
      input = calls.map(({ arguments: json, call_id }) => ({
        type: "function_call_output",
        call_id,
        output: String(stock[JSON.parse(json).fruit] ?? "unknown")
      }))
    }
    return "no answer"
  },
  score: ({ item, messages, result }) => ({
    correct: result.includes(item.answer) ? 1 : 0,
    brief: messages.length < 8 ? 1 : 0
  })
})
