/**
 * Lays out rows in the formats of the original, TRL and Axolotl.
 *
 * Sources: TRL's guide to data set formats (standard and conversational; prompt-completion, language modeling,
 * preference); Axolotl's `type: chat_template` with `message_field_training: train` and `type: input_output` for SFT,
 * `chat_template.default` and `user_defined.default` for DPO.
 */
import { Message } from "@atropos/core"
import { Result } from "effect"
import * as Chat from "./Chat.ts"
import type { ChatSample, Sample, TextSample } from "./Sample.ts"

export const formats = ["original", "trl", "trl-messages", "axolotl"] as const
export type Format = (typeof formats)[number]

export type Row = { readonly [column: string]: unknown }

/** Why two sequences are not a pair, or a chat is not a row of a format. */
export type Reason =
  | "prompts_differ"
  | "same_completion"
  | "several_messages"
  | "unknown_role"
  | "untrained_turn"
  | "template_misfit"

/** A row and the key of its prompt: rows of one prompt are never in different splits. */
export interface Laid {
  readonly row: Row
  readonly prompt: string
}

/** Columns with scores, which do not distinguish rows. */
export const scoreColumns: ReadonlySet<string> = new Set(["score", "score_chosen", "score_rejected"])

const columnsOf: {
  readonly [K in "sft" | "dpo"]: { readonly [F in Format]: { readonly Text: string; readonly Messages: string } }
} = {
  sft: {
    original: { Text: "prefix completion score", Messages: "messages score" },
    trl: { Text: "prompt completion score", Messages: "prompt completion score" },
    "trl-messages": { Text: "text score", Messages: "messages score" },
    axolotl: { Text: "segments score", Messages: "messages score" }
  },
  dpo: {
    original: { Text: "prefix pos score neg", Messages: "pos score neg" },
    trl: { Text: "prompt chosen rejected", Messages: "prompt chosen rejected" },
    "trl-messages": { Text: "", Messages: "" },
    axolotl: { Text: "prompt chosen rejected", Messages: "messages chosen rejected" }
  }
}

export const columns = (kind: "sft" | "dpo", format: Format, form: "Text" | "Messages"): ReadonlyArray<string> =>
  columnsOf[kind][format][form].split(" ")

const promptKey = (sample: Sample): string =>
  sample._tag === "Text" ? sample.prompt : JSON.stringify(sample.prompt.map(Chat.plain))

const plain = (chat: ReadonlyArray<Message.Message>) => chat.map(Chat.plain)
/** TRL passes messages to the chat template as they are; Axolotl parses the arguments of calls. */
const forTrl = (chat: ReadonlyArray<Message.Message>) => plain(chat).map(Chat.withObjects)

const axolotlRoles = new Set(["system", "user", "assistant", "tool"])
const hasUnknownRole = ({ completion, prompt }: ChatSample): boolean =>
  [...prompt, ...completion].some((message) => !axolotlRoles.has(Chat.roleOf(message)))

const sftText: { readonly [F in Format]: (sample: TextSample) => Row } = {
  original: ({ completion, prompt, score }) => ({ prefix: prompt, completion, score }),
  trl: ({ completion, prompt, score }) => ({ prompt, completion, score }),
  "trl-messages": ({ completion, prompt, score }) => ({ text: prompt + completion, score }),
  axolotl: ({ score, segments }) => ({ segments, score })
}

const sftChat: { readonly [F in Format]: (sample: ChatSample) => Row } = {
  original: ({ score, whole }) => ({ messages: whole, score }),
  trl: ({ completion, prompt, score }) => ({ prompt: forTrl(prompt), completion: forTrl(completion), score }),
  "trl-messages": ({ completion, prompt, score }) => ({ messages: forTrl([...prompt, ...completion]), score }),
  axolotl: ({ completion, prompt, score, trained }) => ({
    messages: [
      ...plain(prompt).map((message) => Object.assign({}, message, { train: false })),
      ...plain(completion).map((message, at) => Object.assign({}, message, { train: trained.includes(at) }))
    ],
    score
  })
}

/** Returns true if not every assistant turn of the completion is trained; TRL trains them all. */
const hasUntrainedTurn = ({ completion, trained }: ChatSample): boolean =>
  completion.filter(Chat.isAssistant).length > trained.length

export const sft = (format: Format, sample: Sample): Result.Result<Laid, Reason> => {
  if (sample._tag === "Chat") {
    if (format === "axolotl" && hasUnknownRole(sample)) return Result.fail("unknown_role")
    if (format === "trl" && hasUntrainedTurn(sample)) return Result.fail("untrained_turn")
  } else if (format === "axolotl" && sample.segments === undefined) return Result.fail("template_misfit")
  const row = sample._tag === "Text" ? sftText[format](sample) : sftChat[format](sample)
  return Result.succeed({ row, prompt: promptKey(sample) })
}

/** Aligns two chats to one prompt: as their masks state, otherwise up to the first differing turn of the model. */
const aligned = (a: ChatSample, b: ChatSample): readonly [ChatSample, ChatSample] | undefined => {
  if (promptKey(a) === promptKey(b)) return [a, b]
  const length = Chat.commonLength(a.whole, b.whole)
  if (!Chat.divergeInTurn(a.whole, b.whole, length)) return undefined
  const from = (sample: ChatSample): ChatSample => ({
    ...sample,
    prompt: sample.whole.slice(0, length),
    completion: Chat.untilLastTurn(sample.whole).slice(length),
    trained: sample.trained.map((at) => sample.prompt.length + at - length).filter((at) => at >= 0)
  })
  return [from(a), from(b)]
}

/** The answer, if it is a single message of text alone: Axolotl reads nothing else of it. */
const answer = ({ completion }: ChatSample): Row | undefined => {
  const [message, ...others] = plain(completion)
  if (message === undefined || others.length > 0 || Message.text(message) === "") return undefined
  const hasMore =
    message.tool_calls !== undefined || (message.reasoning_content ?? "").trim() !== "" || Message.hasMedia(message)
  return hasMore ? undefined : { role: message.role, content: Message.text(message) }
}

const dpoText = (format: Format, selected: TextSample, rejected: TextSample): Result.Result<Laid, Reason> => {
  if (selected.prompt !== rejected.prompt) return Result.fail("prompts_differ")
  if (selected.completion === rejected.completion) return Result.fail("same_completion")
  const { completion: better, prompt, score } = selected
  const scores = { score_chosen: score, score_rejected: rejected.score }
  const row =
    format === "original"
      ? { prefix: prompt, pos: better, score, neg: rejected.completion }
      : { prompt, chosen: better, rejected: rejected.completion, ...scores }
  return Result.succeed({ row, prompt })
}

const dpoChat = (format: Format, a: ChatSample, b: ChatSample): Result.Result<Laid, Reason> => {
  if (format === "trl" && (hasUntrainedTurn(a) || hasUntrainedTurn(b))) return Result.fail("untrained_turn")
  const pair = aligned(a, b)
  if (pair === undefined) return Result.fail("prompts_differ")
  const [selected, rejected] = pair
  if (JSON.stringify(plain(selected.completion)) === JSON.stringify(plain(rejected.completion))) {
    return Result.fail("same_completion")
  }
  const scores = { score_chosen: selected.score, score_rejected: rejected.score }
  const laid = (row: Row) => Result.succeed({ row, prompt: promptKey(selected) })
  if (format === "original") return laid({ pos: selected.whole, score: selected.score, neg: rejected.whole })
  if (format !== "axolotl") {
    return laid({
      prompt: forTrl(selected.prompt),
      chosen: forTrl(selected.completion),
      rejected: forTrl(rejected.completion),
      ...scores
    })
  }
  if (hasUnknownRole(selected) || hasUnknownRole(rejected)) return Result.fail("unknown_role")
  const [better, worse] = [answer(selected), answer(rejected)]
  return better === undefined || worse === undefined
    ? Result.fail("several_messages")
    : laid({ messages: plain(selected.prompt), chosen: better, rejected: worse, ...scores })
}

export const dpo = (format: Format, selected: Sample, rejected: Sample): Result.Result<Laid, Reason> => {
  if (selected._tag === "Text" && rejected._tag === "Text") return dpoText(format, selected, rejected)
  if (selected._tag === "Chat" && rejected._tag === "Chat") return dpoChat(format, selected, rejected)
  return Result.fail("prompts_differ")
}
