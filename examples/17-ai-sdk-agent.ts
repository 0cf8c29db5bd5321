/**
 * An agent of Vercel's AI SDK, trained as it is: it looks a price up with a tool and says it.
 *
 * `agent` knows nothing of training: it is given a base URL, as any program of the SDK is. `defineAgent` calls it,
 * scores what it did, and is trained on the exact tokens of its turns. Run it:
 * `npx node --conditions=atropos-src packages/cli/bin/atropos.js up --env ./examples/17-ai-sdk-agent.ts`.
 */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { SeededRandom } from "@atropos/core"
import { defineAgent } from "@atropos/envs"
import { generateText, stepCountIs, tool } from "ai"
import { z } from "zod"

interface Connection {
  readonly baseURL: string
  readonly apiKey: string
  readonly model: string
}

type Prices = { readonly [thing: string]: string }

/** The agent: at most three steps, of which all but the last call the tool. */
const agent = async (question: string, prices: Prices, connection: Connection, abortSignal?: AbortSignal) => {
  const { apiKey, baseURL, model } = connection
  const policy = createOpenAICompatible({ name: "policy", apiKey, baseURL })
  const looked: Array<string> = []
  const { text } = await generateText({
    model: policy(model),
    prompt: question,
    tools: {
      price: tool({
        description: "What a thing costs.",
        inputSchema: z.object({ of: z.string() }),
        execute: ({ of }) => {
          looked.push(of)
          return prices[of] ?? "?"
        }
      })
    },
    stopWhen: stepCountIs(3),
    maxRetries: 0,
    ...(abortSignal && { abortSignal })
  })
  return { text, looked }
}

const things = "abcdef"
const digits = "0123456789"

const drawn = (random: SeededRandom.SeededRandom) => ({
  thing: random.pick(Array.from(things)),
  // Of every item its own, so that they cannot be learned by heart.
  prices: Object.fromEntries(Array.from(things, (thing) => [thing, random.pick(Array.from(digits))]))
})

const ask = (thing: string) => `Price of ${thing}?`

export default defineAgent({
  name: "ai-sdk-agent",
  items: function* ({ settings }) {
    for (let index = 0; ; index++) yield drawn(SeededRandom.seeded(settings.seed, index))
  },
  heldOut: ({ settings }) =>
    Array.from({ length: 64 }, (_, index) => drawn(SeededRandom.seeded(settings.seed + 1_000_003, index))),
  run: ({ item: { prices, thing }, model, signal }) =>
    agent(ask(thing), prices, { baseURL: model.baseURL, apiKey: model.apiKey, model: model.name }, signal),
  score: ({ item: { prices, thing }, result: { looked, text } }) => ({
    looked: looked.length === 1 && looked[0] === thing ? 0.5 : 0,
    correct: text.trim() === prices[thing] ? 0.5 : 0
  }),
  solved: (score) => score === 1
})

const call = (of: string) => `<tool_call>{"name":"price","arguments":{"of":"${of}"}}</tool_call>`

/**
 * How `atropos up` makes a small model that can begin: it is shown what a call looks like and that an answer is a
 * digit, four of five of them drawn at random. Which thing to look up and what to say is left to the reward.
 */
export const recipe = {
  characters: `Price of?${things}${digits}\n${call("")}`,
  demonstration: (index: number) => {
    const random = SeededRandom.seeded(7, index)
    const { prices, thing } = drawn(random)
    const isRight = random.chance(0.2)
    if (index % 2 === 0)
      return { prompt: `${ask(thing)}\n`, completion: call(isRight ? thing : random.pick(Array.from(things))) }
    const told = prices[thing]!
    return {
      prompt: `${ask(thing)}\n${call(thing)}\n${told}\n`,
      completion: isRight ? told : random.pick(Array.from(digits))
    }
  },
  warmStart: { steps: 600, batchSize: 32, learningRate: 2e-3 },
  longest: 96,
  embeddingDeviation: 0.25,
  env: { group_size: 8, max_token_length: 72 },
  trainer: { batch_size: 64, seq_len: 96, lr: 1e-3, training_steps: 200 },
  loss: { kl: "k3", kl_coef: 0.02 }
}
