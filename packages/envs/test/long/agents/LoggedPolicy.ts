/** A scripted policy that logs what it was sent and what it sampled, and the check of a group against its log. */
import { assert } from "@effect/vitest"
import { type ScoredGroup, ServerManager, Tokenizer } from "@atropos/core"
import * as Scripted from "@atropos/core/inference/backend/Scripted"
import { Effect, Layer } from "effect"
import type { CodingAgent } from "../../../src/coding/CodingAgent.ts"

const nameOf = (tool: unknown): string => (tool as { readonly function: { readonly name: string } }).function.name

/** The model runs these commands by the agent's shell, and says that it is done. */
export const policy =
  ({ shell }: CodingAgent, commands: ReadonlyArray<string>): ServerManager.Script =>
  (request) => {
    if ("prompt" in request) return "Done."
    const results = request.messages.filter(({ role }) => role === "tool").length
    const command = commands[results]
    if (command === undefined || request.tools?.some((tool) => nameOf(tool) === shell.tool) !== true) return "All done."
    return `Step ${results + 1}.\n<tool_call>\n${JSON.stringify({ name: shell.tool, arguments: shell.args(command) })}\n</tool_call>`
  }

export interface Sampled {
  readonly prompt: ReadonlyArray<number>
  readonly tokens: ReadonlyArray<number>
}

/** A policy that logs the ids of every request. */
export const logged = (script: ServerManager.Script, log: Array<Sampled>) => {
  const backend = Scripted.make(script, Tokenizer.bytes)
  return ServerManager.layerBackends([
    {
      ...backend,
      tokens: (request) =>
        Effect.tap(backend.tokens(request), (choices) =>
          Effect.sync(() => {
            for (const { tokens } of choices) log.push({ prompt: request.inputIds, tokens })
          })
        )
    }
  ]).pipe(Layer.provide(Tokenizer.layerBytes))
}

/** Each sequence is the log's ids, four answers that continue each other, and trains exactly what was sampled. */
export const assertExact = (group: ScoredGroup.ScoredGroup, log: ReadonlyArray<Sampled>): void => {
  for (const [at, tokens] of group.tokens.entries()) {
    const ids = Array.from(tokens)
    const answers = log.filter(({ prompt, tokens: sampled }) =>
      [...prompt, ...sampled].every((id, index) => ids[index] === id)
    )
    assert.isAtLeast(answers.length, 4)
    const trained = new Set<number>()
    for (const { prompt, tokens: sampled } of answers)
      for (const index of sampled.keys()) trained.add(prompt.length + index)
    assert.deepStrictEqual(
      Array.from(group.masks[at]!, (one) => one === 1),
      ids.map((_, index) => trained.has(index))
    )
  }
}

/** Does the task of a greeting. */
export const greeting = ["cat name.txt", 'printf "Hello, %s!\\n" "$(cat name.txt)" > greeting.txt', "cat greeting.txt"]
