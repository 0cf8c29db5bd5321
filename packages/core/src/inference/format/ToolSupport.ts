/**
 * Warns once per tokenizer about limits of its model with tools: a chat template that does not render them, or an
 * unknown call format.
 */
import { Effect, Result } from "effect"
import type { TokenizerShape } from "../tokenizer/Tokenizer.ts"
import type { OutputFormat } from "./OutputFormat.ts"

const reported = new WeakSet<TokenizerShape>()

const trial = [{ role: "user", content: "hi" }]
const tool = {
  type: "function",
  function: { name: "look_up", description: "Looks up.", parameters: { type: "object", properties: {} } }
}

/** True if tools change the prompt, or if the template rejects such a short chat. */
const rendersTools = ({ applyChatTemplate }: TokenizerShape): boolean => {
  const made = Result.try(() => [
    applyChatTemplate(trial, { addGenerationPrompt: true }),
    applyChatTemplate(trial, { addGenerationPrompt: true, tools: [tool] })
  ])
  return Result.isFailure(made) || made.success[0] !== made.success[1]
}

const messageFor = (tokenizer: TokenizerShape, format: OutputFormat): string | undefined => {
  if (tokenizer.chatTemplate?.({ tools: true }) === undefined) return undefined
  if (!rendersTools(tokenizer)) return "the model's chat template does not support tools: the model will not see them"
  return format.name === "unknown"
    ? "the model's tool-call format is unknown: calls remain text; set tool_call_format if it is a supported format"
    : undefined
}

/** For a request with these tools. */
export const report = (
  tokenizer: TokenizerShape,
  tools: ReadonlyArray<unknown>,
  format: OutputFormat
): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (tools.length === 0 || reported.has(tokenizer)) return Effect.void
    reported.add(tokenizer)
    const message = messageFor(tokenizer, format)
    return message === undefined ? Effect.void : Effect.logWarning(message, { tokenizer: tokenizer.name })
  })
