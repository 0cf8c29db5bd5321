/**
 * Arithmetic stories with a calculator: an agent of OpenAI's SDK that runs a tool as often as the model calls it, then
 * answers. Trained unchanged, on the small language model that comes with the command:
 *
 *     npx @atropos/cli up --config examples/19-calculator-agent.yaml --env examples/19-calculator-agent.ts
 *
 * `solve` contains nothing about training: give it the address of any model. The bundled one was pretrained on students
 * who guess, stop after the first call or calculate something else (docs/models.md); it learns from the reward which of
 * them to imitate.
 */
import { ArithmeticStories, defineAgent } from "@atropos/envs"
import type OpenAI from "openai"

export const instructions =
  "Solve the problem step by step with the calculator, then give the final number as \\boxed{number}."

export const tools: Array<OpenAI.Chat.ChatCompletionFunctionTool> = [
  {
    type: "function",
    function: {
      name: "calculator",
      description: "Does a sum.",
      parameters: { type: "object", properties: { sum: { type: "string" } }, required: ["sum"] }
    }
  }
]

const product = (term: string): number => term.split(/[x*]/).reduce((result, factor) => result * Number(factor), 1)

/** The result of a sum of integers, such as `12+3x4`; an error text if it is not one. */
export const calculated = (sum: string): string => {
  if (!/^-?\d{1,6}(?:(?:\+-?|[-x*])\d{1,6}){0,8}$/.test(sum)) return "not a sum"
  const terms = sum.replaceAll("-", "+-").split("+")
  return String(terms.reduce((total, term) => total + product(term), 0))
}

const mostTurns = 6

export const solve = async (
  question: string,
  model: { readonly baseURL: string; readonly apiKey: string; readonly name: string },
  signal: AbortSignal
): Promise<string> => {
  const { OpenAI } = await import("openai")
  const client = new OpenAI({ baseURL: model.baseURL, apiKey: model.apiKey })
  const messages: Array<OpenAI.Chat.ChatCompletionMessageParam> = [
    { role: "system", content: instructions },
    { role: "user", content: question }
  ]
  for (let turn = 0; turn < mostTurns; turn++) {
    const { choices } = await client.chat.completions.create({ model: model.name, messages, tools }, { signal })
    const { message } = choices[0]!
    const calls = (message.tool_calls ?? []).filter((call) => call.type === "function")
    if (calls.length === 0) return message.content ?? ""
    messages.push(message)
    for (const { function: called, id } of calls) {
      const { sum } = JSON.parse(called.arguments) as { readonly sum?: unknown }
      messages.push({ role: "tool", tool_call_id: id, content: calculated(String(sum)) })
    }
  }
  return "no answer"
}

interface Settings {
  readonly seed: number
  readonly difficulty: number
}

function* stories({ difficulty, seed }: Settings): Generator<ArithmeticStories.Story> {
  for (let index = 0; ; index++) yield ArithmeticStories.story({ seed, index, difficulty, largestNumber: 20 })
}

export default defineAgent({
  name: "calculator-stories",
  settings: { difficulty: { default: 2, description: "steps per problem, 1 to 8" } },
  items: ({ settings }) => stories(settings),
  // The held-out stories of arithmetic-stories.
  heldOut: ({ settings }) => stories({ ...settings, seed: settings.seed + ArithmeticStories.evaluationSeedOffset }),
  run: ({ item, model, signal }) => solve(item.question, model, signal),
  score: ({ item, result }) => (ArithmeticStories.parseAnswer(result) === item.answer ? 1 : 0),
  // An agent that fills all positions with calls is wrong, like one that states a wrong number.
  scoreFailure: () => 0,
  gold: ({ answer }) => [`The answer is \\boxed{${answer}}.`],
  wrong: ({ answer }) => [`The answer is \\boxed{${answer + 1}}.`, "no answer"]
})
