/**
 * Plays a conversation at the desk: the policy is the clerk, with tools; another model is the customer, who knows only
 * its wishes.
 *
 * The customer speaks first, and ends the conversation by a mark. The outcome follows from the messages: the calls are
 * replayed in order on the initial shop.
 */
import { Message, ServerManager, type Trajectory } from "@atropos/core"
import * as Budget from "../kit/Budget.ts"
import type * as Opponent from "../kit/Opponent.ts"
import * as TextAnswer from "../verify/Text.ts"
import * as Thinking from "../kit/Thinking.ts"
import { InferenceError } from "@atropos/core/inference/wire/Inference"
import { Effect, Option, Result, Schema, type Scope } from "effect"
import * as Shop from "./Shop.ts"
import type { Task } from "./Wishes.ts"

const rules = `You are the clerk of a shop and talk with a customer. Help with the tools you have.
Verify the customer by name and postcode before anything else. Only pending orders can be cancelled or sent to another address; only things of delivered orders can be sent back. Do what the customer wants and nothing else; refuse what is against these rules. Say amounts exactly, such as 12.50. When everything is done, say so.`

/** The customer's mark for the end of the conversation. */
export const mark = "###DONE###"

const persona = ({
  customer,
  wishes
}: Task): string => `You play a customer who talks with the clerk of a shop. Stay in this role, and write only what the customer says, in one or two sentences.
Your name is ${customer.name}, your postcode ${customer.postcode}: tell them when you are asked. You do not know the numbers of your orders, only what is in them.
${wishes.join("\n")}
Say one thing at a time. Never make anything up. When the clerk has done or answered everything, or has finally refused it, write ${mark} and nothing else.`

const greeting = "Hello, how can I help you?"

export interface Options extends Pick<ServerManager.SamplingOptions, "maxTokens" | "temperature" | "seed" | "split"> {
  readonly customer: Pick<Opponent.OpponentShape, "reply" | "modelName">
  readonly customerTemperature: number
  readonly limits: Budget.Limits
}

/** The customer's reply; undefined: the conversation is over. */
const reply = Effect.fnUntraced(function* (
  task: Task,
  texts: ReadonlyArray<string>,
  { customer, customerTemperature }: Options
): Effect.fn.Return<string | undefined, InferenceError> {
  const messages = [
    Message.system(persona(task)),
    ...texts.map((text, index) => (index % 2 === 0 ? Message.user(text) : Message.assistant(text)))
  ]
  const answer = Thinking.visibleText(
    yield* customer.reply({ messages, temperature: customerTemperature, maxTokens: 512 })
  ).trim()
  if (answer.includes(mark)) return undefined
  if (answer !== "") return answer
  return yield* new InferenceError({
    reason: "malformed",
    server: customer.modelName,
    message: "the customer's message is empty"
  })
})

const decode = Schema.decodeUnknownResult(Schema.fromJsonString(Schema.Unknown))

/** Runs a call as written by the model. */
const made = (shop: Shop.Shop, { function: { arguments: json, name } }: Message.ToolCall): Shop.Done =>
  Result.flatMap(
    Result.mapError(decode(json || "{}"), () => "the arguments are not JSON"),
    (args) => Shop.call(shop, name, args)
  )

/** The shop after the calls of an answer, with the tools' replies. */
const serve = (shop: Shop.Shop, calls: ReadonlyArray<Message.ToolCall>) => {
  let state = shop
  const replies = calls.map((call): Message.Message => {
    const done = made(state, call)
    if (Result.isSuccess(done)) state = done.success.shop
    return {
      role: "tool",
      name: call.function.name,
      content: Result.isSuccess(done) ? done.success.reply : `error: ${done.failure}`,
      ...(call.id !== undefined && { tool_call_id: call.id })
    }
  })
  return { shop: state, replies }
}

/** One conversation; undefined if the context has no room for an answer. */
export const play = Effect.fn("Conversation.play")(function* (
  task: Task,
  options: Options
): Effect.fn.Return<Trajectory.Trajectory | undefined, InferenceError, ServerManager.ServerManager | Scope.Scope> {
  const { customer: _, customerTemperature: __, limits, ...sampling } = options
  const servers = yield* ServerManager.ServerManager
  const session = yield* servers.tracked()
  const budget = yield* Budget.make(limits)
  let { shop } = task
  const texts = [greeting]
  let messages: ReadonlyArray<Message.Message> = [Message.system(rules)]
  let userText = yield* reply(task, texts, options)
  while (userText !== undefined) {
    texts.push(userText)
    messages = [...messages, Message.user(userText)]
    let words: string | undefined
    while (words === undefined) {
      const answer = yield* budget.turn(session, { messages, tools: Shop.definitions, ...sampling })
      if (Option.isNone(answer)) break
      const { message, toolCalls } = answer.value
      messages = [...messages, message]
      if (toolCalls.length === 0) words = Thinking.visibleText(Message.text(message)).trim()
      else {
        const served = serve(shop, toolCalls)
        shop = served.shop
        messages = [...messages, ...served.replies]
      }
    }
    // On a spent budget the actions so far count. An empty message ends the conversation.
    if (words === undefined || words === "") break
    texts.push(words)
    userText = yield* reply(task, texts, options)
  }
  const trajectory = (yield* session.trajectories).at(-1)
  const last = messages.findLastIndex(({ role }) => role === "assistant")
  return trajectory === undefined ? undefined : { ...trajectory, messages: messages.slice(0, last + 1) }
}, Effect.scoped)

const comparable = (orders: ReadonlyArray<Shop.Order>) =>
  JSON.stringify(
    orders.map(({ address, id, returned, status }) => [id, status, TextAnswer.normalise(address), returned])
  )

const amount = /(?<![\d.,])\d{1,6}[.,]\d{2}(?![\d]|[.,]\d)/g

/** Checks that a text contains the amount, and no other one except those that belong to it. */
const says = (words: string, { cents, others }: NonNullable<Task["told"]>): boolean => {
  const amounts = Array.from(words.matchAll(amount), ([one]) => Math.round(Number(one.replace(",", ".")) * 100))
  return amounts.includes(cents) && amounts.every((one) => one === cents || others.includes(one))
}

export interface Judged {
  /** 1 if the orders match the goal exactly. */
  readonly orders: number
  /** 1 if the customer received the requested amount. */
  readonly told: number
}

export const judge = (
  { goal, shop, told: reported }: Task,
  { messages }: Pick<Trajectory.Trajectory, "messages">
): Judged => {
  const answers = messages.filter(({ role }) => role === "assistant")
  const end = answers.reduce((state, { tool_calls: calls = [] }) => serve(state, calls).shop, shop)
  const words = answers
    .filter(({ tool_calls: calls = [] }) => calls.length === 0)
    .map((one) => Thinking.visibleText(Message.text(one)))
  return {
    orders: Number(comparable(end.orders) === comparable(goal)),
    // Amounts stated before the verification do not count.
    told: Number(reported === undefined || (end.verified !== undefined && words.some((one) => says(one, reported))))
  }
}
