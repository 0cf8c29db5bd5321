/**
 * Generates the files of a new agent: a small working one in plain TypeScript, its test, and what they need to run
 * outside this repository.
 *
 * It calls the model with `fetch` only, so that it has no dependencies; any SDK with a base URL can replace it.
 */
import { node, packageJson, type StarterOptions, tsconfig } from "./Starter.ts"

/** Path in the new folder -> content. */
export const files = (options: StarterOptions): ReadonlyMap<string, string> =>
  new Map([
    ["package.json", packageJson(options)],
    ["tsconfig.json", tsconfig(options)],
    [`${options.name}.ts`, agent(options)],
    [`${options.name}.test.ts`, test(options)]
  ])

const agent = ({ name }: StarterOptions): string => `/**
 * ${name}: an agent that doubles numbers. Replace it, its items and its score by your own; what each part may be is in
 * docs/agents.md of @atropos/core.
 */
import { type AgentModel, defineAgent } from "@atropos/envs"

interface Answer {
  readonly choices: ReadonlyArray<{ readonly message: { readonly content: string | null } }>
}

/**
 * The agent. It knows nothing of training: any SDK that takes a base URL does in the place of \`fetch\`, with as many
 * requests and tools as you like.
 */
export const agent = async (
  question: string,
  model: Pick<AgentModel, "apiKey" | "baseURL" | "name">,
  signal?: AbortSignal
): Promise<string> => {
  const response = await fetch(\`\${model.baseURL}/chat/completions\`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: \`Bearer \${model.apiKey}\` },
    body: JSON.stringify({ model: model.name, messages: [{ role: "user", content: question }] }),
    signal: signal ?? null
  })
  if (!response.ok) throw new Error(\`the model answered \${response.status}: \${await response.text()}\`)
  const { choices } = (await response.json()) as Answer
  return choices[0]?.message.content ?? ""
}

/** Parses the last number of an answer. Pure, so that a test needs no model. */
export const answerOf = (answer: string): number => Number(answer.match(/-?\\d+/g)?.at(-1))

export default defineAgent({
  name: "${name}",
  // Its settings, in addition to those of all environments: \`--env.largest 20\`.
  settings: {
    largest: { default: 99, description: "largest number asked for" },
    // The byte-level tokenizer needs no download; name your policy's to train a model.
    tokenizerName: { default: "bytes", description: "the policy's tokenizer: hub id or folder" }
  },
  // Or a file in this folder ("tickets.jsonl"), a data set of the hub, an array.
  items: function* ({ settings }) {
    for (let number = 0; ; number++) yield number % (settings.largest + 1)
  },
  // Never trained on.
  heldOut: ({ settings }) => Array.from({ length: 20 }, (_, index) => settings.largest + 1 + index),
  run: ({ item, model, signal }) => agent(\`What is \${item} + \${item}? End with the number.\`, model, signal),
  // A number, or numbers by name: { correct: 1, brief: 0.5 }.
  score: ({ item, result }) => (answerOf(result) === 2 * item ? 1 : 0),
  // Checked by \`atropos validate\`.
  gold: (item) => [\`\${2 * item}\`, \`\${item} + \${item} is \${2 * item}.\`],
  wrong: (item) => [\`\${2 * item + 1}\`, \`\${2 * item}? No, \${2 * item + 2}.\`, "I do not know."]
})
`

const test = (
  options: StarterOptions
): string => `/** Run it with \`npm test\` (\`${node(options)} --test\`). No model is needed. */
import assert from "node:assert/strict"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { test } from "node:test"
import { agent, answerOf } from "./${options.name}.ts"

test("reads the number an answer ends with", () => {
  assert.equal(answerOf("1 + 1 is 2."), 2)
  assert.equal(answerOf("-4"), -4)
  assert.ok(Number.isNaN(answerOf("I do not know.")))
})

test("asks the model that it is given", async () => {
  const server = createServer((_request, response) =>
    response.setHeader("content-type", "application/json").end('{"choices":[{"message":{"content":"It is 4."}}]}')
  )
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", () => listening()))
  const { port } = server.address() as AddressInfo
  const model = { baseURL: \`http://127.0.0.1:\${port}/v1\`, apiKey: "any", name: "any" }
  assert.equal(await agent("What is 2 + 2?", model), "It is 4.")
  server.close()
})
`
