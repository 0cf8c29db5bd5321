/**
 * The agent of example 17 as a separate program: reads a shop as JSON from standard input, calls the model from its
 * variables, and writes the reward of its answer to `REWARD_FILE`. A failed agent counts as wrong, as in the example.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { ask, type Shop } from "../../examples/17-ai-sdk-agent.ts"

const { MODEL: name = "", OPENAI_API_KEY: apiKey = "", OPENAI_BASE_URL: baseURL = "", REWARD_FILE } = process.env
const shop = JSON.parse(readFileSync(0, "utf8")) as Shop
const reward = await ask(shop, { baseURL, apiKey, name }, new AbortController().signal).then(
  (answer) => (answer === String(shop.prices[shop.product]) ? 1 : 0),
  () => 0
)
if (REWARD_FILE === undefined) console.log(reward)
else writeFileSync(REWARD_FILE, String(reward))
