/** Conversations that do or do not serve the customer, for claims and tests. */
import { Message, type Trajectory } from "@atropos/core"
import * as Shop from "./Shop.ts"
import type { Call, Task } from "./Wishes.ts"

/** A conversation in which the clerk makes these calls, one per turn, followed by a final message. */
export const conversation = (calls: ReadonlyArray<Call>, words: string): Trajectory.Trajectory => {
  const messages: ReadonlyArray<Message.Message> = [
    Message.user("Hello."),
    ...calls.flatMap(([name, args], index): ReadonlyArray<Message.Message> => [
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: `call-${index}`, type: "function", function: { name, arguments: JSON.stringify(args) } }]
      },
      { role: "tool", tool_call_id: `call-${index}`, content: "done" }
    ]),
    Message.assistant(words)
  ]
  // A token for each answer, and one before it.
  const answers = messages.filter(({ role }) => role === "assistant").length
  const tokens = Int32Array.from({ length: 2 * answers }, (_, at) => at)
  return {
    messages,
    completion: words,
    finishReason: "stop",
    tokens,
    mask: Uint8Array.from(tokens, (_, at) => at % 2)
  }
}

const amountOf = ({ told: reported }: Task): string =>
  reported === undefined ? "" : ` It is ${Shop.money(reported.cents)}.`

export const gold = (task: Task) => [
  conversation(task.calls, `All is done.${amountOf(task)}`),
  conversation([...task.calls.slice(0, 1), ["list_orders", {}], ...task.calls.slice(1)], `Done!${amountOf(task)}`)
]

export const wrong = (task: Task) => {
  const { calls, goal, told: reported } = task
  const words = `All is done.${amountOf(task)}`
  const other = goal.find(({ customer, status }) => status === "pending" && customer === task.customer.name)
  return [
    conversation([], words),
    // Without verification nothing is allowed.
    conversation(calls.slice(1), words),
    ...(calls.length > 1 ? [conversation(calls.slice(0, -1), words)] : []),
    ...(other === undefined ? [] : [conversation([...calls, ["cancel_order", { order: other.id }]], words)]),
    ...(reported === undefined
      ? []
      : [
          conversation(calls, "All is done."),
          conversation(calls, `It is ${Shop.money(reported.cents + 1)}.`),
          conversation(calls, `It is ${Shop.money(reported.cents)} or ${Shop.money(reported.cents + 1)}.`),
          conversation(calls, `<think>${Shop.money(reported.cents)}</think>All is done.`)
        ])
  ]
}
