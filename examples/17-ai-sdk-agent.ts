/**
 * Trains an agent of the Vercel AI SDK, unchanged: it is asked for the price of a product and has one tool to look up
 * prices. At least two turns: a call, and an answer with the tool's result.
 *
 *     npx @atropos/cli up --env examples/17-ai-sdk-agent.ts
 *
 * `ask` contains nothing about training: give it the address of any model. The model here is made from scratch and
 * spells in single characters. It is first trained on demonstrations of calls and answers, with random products and
 * prices; looking up the right product and stating the returned price are learned from the reward alone.
 */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { defineAgent } from "@atropos/envs"
import { SeededRandom } from "@atropos/core"
import { generateText, stepCountIs, tool } from "ai"
import { z } from "zod"

export interface Shop {
  readonly product: string
  readonly prices: { readonly [product: string]: number }
}

const products = Array.from("abcdefgh")

export const ask = async (
  { prices, product }: Shop,
  model: { readonly baseURL: string; readonly apiKey: string; readonly name: string },
  abortSignal: AbortSignal
): Promise<string> => {
  const provider = createOpenAICompatible({ name: "shop", baseURL: model.baseURL, apiKey: model.apiKey })
  const { text } = await generateText({
    model: provider(model.name),
    prompt: `${product}?`,
    tools: {
      price: tool({
        description: "The price of a product",
        inputSchema: z.object({ of: z.string() }),
        execute: async ({ of }) => String(prices[of] ?? "none")
      })
    },
    stopWhen: stepCountIs(3),
    abortSignal
  })
  return text
}

const shopAt = (seed: number, index: number): Shop => {
  const random = SeededRandom.seeded(seed, index)
  return {
    product: random.pick(products),
    prices: Object.fromEntries(products.map((product) => [product, random.between(0, 9)]))
  }
}

export function* shops(seed: number, count: number): Generator<Shop> {
  for (let index = 0; index < count; index++) yield shopAt(seed, index)
}

export default defineAgent({
  name: "shop",
  items: ({ settings }) => shops(settings.seed, Infinity),
  heldOut: () => shops(-1, 128),
  run: ({ item, model, signal }) => ask(item, model, signal),
  score: ({ item, result }) => (result === String(item.prices[item.product]) ? 1 : 0),
  scoreRange: [0, 1],
  // An agent that wrote an unreadable call is wrong, like one that stated a wrong price.
  scoreFailure: () => 0
})

/** A call as the model writes it. */
export const call = (product: string): string =>
  `<tool_call>{"name": "price", "arguments": {"of": "${product}"}}</tool_call>`

/** Share of right demonstrations. */
const right = 0.2

/** How `up` makes a model for it: its vocabulary and demonstrations. */
export const recipe = {
  characters: Array.from(new Set(`${call(products.join(""))}0123456789?none\n`)).join(""),
  demonstration: (index: number) => {
    const random = SeededRandom.seeded(7, index)
    const product = random.pick(products)
    const question = { role: "user", content: `${product}?` }
    const called = call(random.chance(right) ? product : random.pick(products))
    if (index % 2 === 0) return { prompt: [question], completion: called }
    const price = String(random.between(0, 9))
    return {
      prompt: [question, { role: "assistant", content: called }, { role: "tool", content: price }],
      completion: random.chance(right) ? price : String(random.between(0, 9))
    }
  },
  embeddingDeviation: 0.25,
  warmStart: { steps: 400 },
  env: { max_token_length: 80 },
  trainer: { seq_len: 96, lr: 5e-4, warmup_steps: 10, training_steps: 150 },
  // Without a KL penalty it may unlearn how a call is spelled before it has learned what to call.
  loss: { kl: "k3", kl_coef: 0.02 }
}
