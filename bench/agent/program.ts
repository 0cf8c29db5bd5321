/**
 * The agent of example 17 as a program of its own: it reads a shop as JSON on standard input, asks the model that the
 * variables name, and writes what its answer is worth to `REWARD_FILE`. An agent that fails is wrong, as it is there.
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
