/**
 * Checks that tokens are decoded with the tokenizer that produced them: a different one also yields some text. Groups
 * record their tokenizer; otherwise the first group with chats is compared with its text.
 */
import { Message, type ScoredGroup } from "@atropos/core"
import * as TokenizerIdentity from "@atropos/core/inference/tokenizer/TokenizerIdentity"
import * as Chat from "./Chat.ts"
import type { Form } from "./Sample.ts"

/** Returns the reason why the tokenizer does not match a group; undefined if it matches or cannot be checked. */
export const make = (form: Form): ((group: ScoredGroup.ScoredGroup) => string | undefined) => {
  if (form._tag !== "Text" || form.from !== "tokens") return () => undefined
  const { tokenizer } = form
  let isCompared = false
  return (group) => {
    const recorded = recordedIn(group)
    if (recorded !== undefined) {
      return recorded.digest === TokenizerIdentity.of(tokenizer).digest
        ? undefined
        : `the groups were tokenized with ${recorded.name}, not with ${tokenizer.name}: give --tokenizer ${recorded.name}`
    }
    if (isCompared) return undefined
    const answers = answersOf(group)
    isCompared = answers.length > 0
    return isCompared && answers.every(({ text, tokens }) => !squeezed(tokenizer.decode(tokens)).includes(text))
      ? `the tokens decoded with ${tokenizer.name} do not match the text of the messages: give the policy's tokenizer (--tokenizer), or --text-from messages`
      : undefined
  }
}

export const recordedIn = ({
  groupOverrides
}: Pick<ScoredGroup.ScoredGroup, "groupOverrides">): TokenizerIdentity.TokenizerIdentity | undefined =>
  TokenizerIdentity.read(groupOverrides?.["tokenizer"])

/** Each sequence with the text of its last answer, if long enough to distinguish tokenizers. */
const answersOf = ({ messages = [], tokens }: ScoredGroup.ScoredGroup) =>
  messages.flatMap((chat, index) => {
    const answer = chat.findLast(Chat.isAssistant)
    const text = squeezed(answer === undefined ? "" : Message.text(answer))
    const ids = tokens[index]
    return text.length < shortest || ids === undefined || ids.length === 0 ? [] : [{ text, tokens: ids }]
  })

const shortest = 2

const squeezed = (text: string): string => text.replace(/[\s\uFFFD]+/gu, "")
