// shop.ts
import { defineAgent } from "@atropos/envs"
import OpenAI from "openai"

const prices: Record<string, number> = { pear: 3, plum: 2, apple: 1 }

const tools: Array<OpenAI.Chat.ChatCompletionFunctionTool> = [
  {
    type: "function",
    function: { name: "price", parameters: { type: "object", properties: { fruit: { type: "string" } } } }
  }
]

export default defineAgent({
  name: "shop",
  items: Object.entries(prices).map(([fruit, price]) => ({ question: `What is a ${fruit}?`, answer: String(price) })),
  run: async ({ item, model, signal }) => {
    const client = new OpenAI({ baseURL: model.baseURL, apiKey: model.apiKey })
    const messages: Array<OpenAI.Chat.ChatCompletionMessageParam> = [{ role: "user", content: item.question }]
    for (let turn = 0; turn < 4; turn++) {
      const { choices } = await client.chat.completions.create({ model: model.name, messages, tools }, { signal })
      const { message } = choices[0]!
      const calls = (message.tool_calls ?? []).filter((call) => call.type === "function")
      if (calls.length === 0) return message.content ?? ""
      messages.push(message)
      for (const { function: called, id } of calls) {
        const { fruit } = JSON.parse(called.arguments) as { readonly fruit?: string }
        messages.push({ role: "tool", tool_call_id: id, content: String(prices[fruit ?? ""] ?? "unknown") })
      }
    }
    return "no answer"
  },
  score: ({ item, result }) => (result.includes(item.answer) ? 1 : 0),
  scoreRange: [0, 1],
  gold: ({ answer }) => [`It costs ${answer}.`],
  wrong: () => ["I do not know."]
})
