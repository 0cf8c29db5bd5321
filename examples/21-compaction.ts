/**
 * An agent whose history is compacted: when its chat is long, the model summarizes it, and a new chat continues from
 * the summary alone. Each chat of a run is a sequence with the score of the run, so a summary that an answer depends on
 * is trained like the answer.
 *
 *     npx @atropos/cli process --env examples/21-compaction.ts --openai.base_url … --env.total_steps 4
 *
 * `read` contains nothing about training: give it the address of any model.
 */
import { SeededRandom } from "@atropos/core"
import { defineAgent } from "@atropos/envs"
import type OpenAI from "openai"

export interface Ledger {
  readonly pages: ReadonlyArray<string>
  readonly question: string
  readonly answer: number
}

const system = "Read the pages of a ledger one by one. Reply to each with its sums, then answer the question."
export const summarize = "Summarize what is needed to go on, with all sums so far. Only the summary is kept."

/** Messages after which a chat is summarized: two pages and their replies. */
const maxMessages = 5

export const read = async (
  { pages, question }: Ledger,
  model: { readonly baseURL: string; readonly apiKey: string; readonly name: string },
  signal: AbortSignal
): Promise<string> => {
  const { OpenAI } = await import("openai")
  const client = new OpenAI({ baseURL: model.baseURL, apiKey: model.apiKey })
  let messages: Array<OpenAI.Chat.ChatCompletionMessageParam> = [{ role: "system", content: system }]
  const ask = async (content: string): Promise<string> => {
    messages.push({ role: "user", content })
    const { choices } = await client.chat.completions.create({ model: model.name, messages }, { signal })
    const reply = choices[0]!.message
    messages.push(reply)
    return reply.content ?? ""
  }
  let [summary, last] = ["", ""]
  for (const text of [...pages, question]) {
    if (messages.length >= maxMessages) {
      summary = `Summary so far: ${await ask(summarize)}\n\n`
      messages = messages.slice(0, 1)
    }
    last = await ask(messages.length === 1 ? summary + text : text)
  }
  return last
}

const people = ["Anna", "Ben", "Carla", "Dan"]

/** Four pages of two entries each. */
export const ledgerAt = (seed: number, index: number): Ledger => {
  const random = SeededRandom.seeded(seed, index)
  const entries = Array.from({ length: 8 }, () => ({ name: random.pick(people), coins: random.between(1, 9) }))
  const { name: wanted } = random.pick(entries)
  const lines = entries.map(({ coins, name }) => `${name} is paid ${coins} coins.`)
  return {
    pages: [0, 2, 4, 6].map((at) => lines.slice(at, at + 2).join("\n")),
    question: `How many coins is ${wanted} paid in all? Answer with the number alone.`,
    answer: entries.reduce((sum, { coins, name }) => (name === wanted ? sum + coins : sum), 0)
  }
}

function* ledgers(seed: number): Generator<Ledger> {
  for (let index = 0; ; index++) yield ledgerAt(seed, index)
}

export default defineAgent({
  name: "ledger",
  items: ({ settings }) => ledgers(settings.seed),
  heldOut: () => Array.from({ length: 64 }, (_, index) => ledgerAt(2 ** 30, index)),
  run: ({ item, model, signal }) => read(item, model, signal),
  score: ({ item, result }) => (result.trim() === String(item.answer) ? 1 : 0),
  scoreRange: [0, 1],
  gold: ({ answer }) => [String(answer)],
  wrong: ({ answer }) => ["", String(answer + 1)]
})
