/**
 * Loads rows of a data set as already solved groups, for the trainer's `sft` loss.
 *
 * Every row is a group of one sequence with score 1 and the override `sft` (of the group and of its sequence); nothing
 * is sampled. Formats: `completion` (a text, all of it trained), `prefix_completion` (a prompt and its continuation,
 * only the latter trained), `oai_format` (a list of messages) and `sharegpt_format` (a list of from and value). Texts
 * end with the tokenizer's end of sequence, so that the model learns to stop. A row that cannot be tokenised is
 * unscorable, with the reason. Behaviour: sft_loader_server.py of the original, whose advantages were one number
 * instead of one per token.
 */
import { ChatMask, Columns, Dataset, Environment, Message, Tokenizer, Trajectory } from "@atropos/core"
import { Effect, Option, Predicate, Result, Schema, Stream } from "effect"

export const settings = Environment.settings({
  groupSize: Environment.field(Schema.Literals([1]), 1, "sequences per group; here every row is a separate group"),
  ensureScoresAreNotSame: Environment.field(
    Schema.Boolean,
    false,
    "drop groups in which all scores are equal; here they always are"
  ),
  source: Environment.field(Schema.NonEmptyString, "openai/gsm8k/main/train", "rows: a data set on the hub, or a file"),
  format: Environment.field(
    Schema.Literals(["completion", "prefix_completion", "oai_format", "sharegpt_format"]),
    "prefix_completion",
    "form of the rows: a text, a prompt and its continuation, a list of messages, or ShareGPT's list of from and value"
  ),
  column: Environment.field(Schema.NonEmptyString, "answer", "column with the text, the continuation or the messages"),
  prefixColumn: Environment.field(Schema.NonEmptyString, "question", "column with the prompt, for prefix_completion"),
  toolsColumn: Environment.field(
    Schema.NullOr(Schema.NonEmptyString),
    "tools",
    "column with the tools of a chat (a list, or its JSON text), if the row has it; None: chats are rendered without tools"
  ),
  train: Environment.field(
    Schema.Literals(["assistants", "last"]),
    "assistants",
    "turns of a chat to train on: all assistant turns, or only the last message"
  ),
  epochs: Environment.field(Schema.Int, -1, "number of times to send every row; -1 means forever"),
  seed: Environment.field(Schema.Int, 42, "random seed for the order of the rows"),
  tokenizerName: Environment.field(
    Schema.String,
    "bytes",
    "the policy's tokenizer: hub id or folder, or bytes for a byte-level one"
  )
})

interface Row {
  readonly text?: string
  readonly prefix?: string
  readonly chat?: ReadonlyArray<Message.Message>
  readonly tools?: ReadonlyArray<unknown> | null
}

const asTurns = Schema.decodeUnknownOption(
  Schema.Array(
    Schema.Struct({ from: Schema.Literals(["system", "human", "gpt", "tool"]), value: Schema.String })
  ).check(Schema.isMinLength(1))
)
const roles = { system: "system", human: "user", gpt: "assistant", tool: "tool" } as const

const chats: { readonly [format: string]: Columns.Kind<ReadonlyArray<Message.Message>> } = {
  oai_format: Columns.messages,
  sharegpt_format: {
    expected: "a list of turns, each with from (system, human, gpt, tool) and value",
    read: (value) =>
      Option.map(asTurns(Columns.listOf(value)), (turns) =>
        turns.map(({ from, value: content }) => ({ role: roles[from], content }))
      ).pipe(Option.getOrUndefined)
  }
}

const tools: Columns.Kind<ReadonlyArray<unknown>> = {
  expected: "a list of tools, each an object",
  read: (value) => {
    const list = Columns.anything.read(Columns.listOf(value))
    return Array.isArray(list) && list.every(Predicate.isReadonlyObject) ? list : undefined
  }
}

/** Why the template cannot render a chat, or would not render all of it. */
const notRendered = (
  tokenizer: Tokenizer.TokenizerShape,
  chat: ReadonlyArray<Message.Message>,
  tools: ReadonlyArray<unknown>
): string | undefined => {
  if (chat.some(Message.hasMedia)) return "the chat has pictures or other parts that tokens of text cannot represent"
  const render = (tools: ReadonlyArray<unknown>) =>
    Result.try({
      try: () => tokenizer.applyChatTemplate(chat, { addGenerationPrompt: false, tools }),
      catch: (cause) => (cause instanceof Error ? cause.message : String(cause))
    })
  const whole = render(tools)
  if (Result.isFailure(whole)) return whole.failure
  return tools.length > 0 && whole.success === Result.getOrUndefined(render([]))
    ? `the chat template of ${tokenizer.name} does not write the tools of the row: set tools_column to None to train without them`
    : undefined
}

/** The tokens of a prompt and of its continuation, which is trained; closed by an end of sequence. */
export const textTrajectory = (
  tokenizer: Tokenizer.TokenizerShape,
  prefix: string,
  text: string
): Trajectory.Trajectory => {
  const end = tokenizer.eosTokenId
  const framed = prefix === "" ? [] : tokenizer.encode(prefix)
  // Some tokenizers append an end token to every text; here the sequence continues.
  const before = end !== undefined && framed.at(-1) === end ? framed.slice(0, -1) : framed
  const after = tokenizer.encode(text, { addSpecialTokens: prefix === "" })
  const tokens = Int32Array.from([...before, ...after, ...(end === undefined || after.at(-1) === end ? [] : [end])])
  const messages = [...(prefix === "" ? [] : [Message.user(prefix)]), Message.assistant(text)]
  const mask = Trajectory.maskFrom(before.length, tokens.length)
  return { messages, completion: text, finishReason: "stop", tokens, mask }
}

export const layer = Environment.layer("sft-loader", settings, (selected) =>
  Effect.gen(function* () {
    const { column, epochs, format, prefixColumn, seed, source, toolsColumn, train } = selected
    const tokenizer = yield* Tokenizer.Tokenizer
    const kind = chats[format]
    const rows: ReadonlyArray<Row> = yield* Columns.rows(source, {
      ...(kind === undefined
        ? { text: { setting: "column", column, kind: Columns.text } }
        : {
            chat: { setting: "column", column, kind },
            ...(toolsColumn !== null && {
              tools: { setting: "tools_column", column: toolsColumn, kind: Columns.optional(tools) }
            })
          }),
      ...(format === "prefix_completion" && {
        prefix: { setting: "prefix_column", column: prefixColumn, kind: Columns.text }
      })
    })
    const solved = Effect.fn("SftLoader.solved")(function* ({ chat = [], prefix = "", text, tools }: Row) {
      if (text !== undefined) return textTrajectory(tokenizer, prefix, text)
      const given = tools ?? []
      const problem = notRendered(tokenizer, chat, given)
      if (problem !== undefined) return yield* new Environment.Unscorable({ message: problem })
      const { mask, tokens } = yield* Effect.mapError(
        Effect.fromResult(ChatMask.tokenize(tokenizer, chat, { train, ...(given.length > 0 && { tools: given }) })),
        ({ message }) => new Environment.Unscorable({ message })
      )
      if (Trajectory.trainedTokens({ mask }) === 0) {
        return yield* new Environment.Unscorable({ message: "the chat has no turn to train on" })
      }
      const completion = chat.slice(-1).map(Message.text).join("")
      return { messages: chat, completion, finishReason: "stop", tokens, mask }
    })

    return {
      items: (cursor: number) =>
        Dataset.shuffle(rows, { seed })(cursor).pipe(
          Stream.take(epochs < 0 ? Number.MAX_SAFE_INTEGER : Math.max(0, epochs * rows.length - cursor))
        ),
      collectTrajectories: (row: Row) =>
        Effect.map(solved(row), (trajectory) => ({
          groups: [
            {
              trajectories: [trajectory],
              scores: [{ score: 1, overrides: { sft: true } }],
              groupOverrides: { sft: true, group_size: 1 }
            }
          ]
        })),
      label: ({ chat, prefix, text }: Row) => (prefix ?? text ?? JSON.stringify(chat)).slice(0, 100),
      claims: { untestable: "its rows are already solved, so nothing is scored", scoreRange: [1, 1] as const }
    }
  })
)
