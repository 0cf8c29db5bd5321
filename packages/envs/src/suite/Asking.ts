/** Asks the model an item: one question, or several in one chat, each answered before the next. */
import { Message, type ServerManager, type Trajectory } from "@atropos/core"
import { Effect } from "effect"
import type { Item } from "./Item.ts"
import type { Suite } from "./Spec.ts"

interface Chosen {
  readonly samples: number
  readonly temperature: number
  readonly topP: number
  readonly maxTokenLength: number
}

/** Trajectories of an item, one per sample. */
export const make =
  (servers: Pick<ServerManager.ServerManagerShape, "chat">, { stop }: Suite, chosen: Chosen) =>
  (item: Item) => {
    const ask = (messages: ReadonlyArray<Message.Message>, n: number) =>
      servers.chat({
        messages,
        n,
        temperature: chosen.temperature,
        ...(chosen.topP < 1 && { topP: chosen.topP }),
        ...(stop !== undefined && stop.length > 0 && { stop }),
        maxTokens: chosen.maxTokenLength,
        split: "eval"
      })
    const goOn = Effect.fnUntraced(function* (first: Trajectory.Trajectory) {
      let last = first
      for (const question of item.later) {
        const [next] = yield* ask([...last.messages, Message.user(question)], 1)
        last = next ?? last
      }
      return last
    })
    return Effect.flatMap(ask(item.messages, chosen.samples), (answers) =>
      item.later.length === 0 ? Effect.succeed(answers) : Effect.forEach(answers, goOn, { concurrency: "unbounded" })
    )
  }

/** The model's answers, turn by turn, without those of solved examples. */
export const answersOf = (
  item: Pick<Item, "messages">,
  { completion, messages }: Trajectory.Trajectory
): ReadonlyArray<string> => {
  const said = messages
    .slice(item.messages.length)
    .filter(({ role }) => role === "assistant")
    .map(Message.text)
  return said.length === 0 ? [completion] : [...said.slice(0, -1), completion]
}
