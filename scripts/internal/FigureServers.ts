/**
 * Stand-ins for servers that environments use in addition to the policy, for group figures: each follows a simple rule.
 */
import type { ServerManager } from "@atropos/core"
import { Message } from "@atropos/core"
import * as InProcess from "../../packages/cli/test/InProcess.ts"
import * as TestServer from "../../packages/core/test/inference/TestServer.ts"
import { Effect } from "effect"

const words = (given: string): ReadonlyArray<string> => given.toLowerCase().match(/\w+/g) ?? []

/** Prefers the answer that shares more words with the request. */
export const judge = (request: ServerManager.ScriptedRequest): string => {
  const last = "messages" in request ? request.messages.at(-1) : undefined
  const text = last === undefined ? "" : Message.text(last)
  const part = (name: string) =>
    new RegExp(`--- ${name} (\\w+) ---\\n([^]*?)\\n--- end of ${name} \\1 ---`).exec(text)?.[2] ?? ""
  const wanted = new Set(words(part("request")))
  const shared = (answer: string) => new Set(words(answer).filter((one) => wanted.has(one))).size
  const [a, b] = [shared(part("answer A")), shared(part("answer B"))]
  return a === b ? "[[tie]]" : a > b ? "[[A]]" : "[[B]]"
}

/** A customer who states the wishes from its prompt, and ends once the clerk reports success. */
export const customer = (request: ServerManager.ScriptedRequest): string => {
  const [persona, ...said] = "messages" in request ? request.messages : []
  if (said.some((message) => /done/i.test(Message.text(message)))) return "###DONE###"
  return persona === undefined
    ? ""
    : Message.text(persona).split("\n").slice(2, -1).join(" ").replaceAll("You want", "I want").replaceAll("your", "my")
}

/** A reward model whose reward is the number of words in an answer. */
export const rewards = Effect.map(
  TestServer.make(({ body }) => {
    const { messages = [] } = body as { readonly messages?: ReadonlyArray<ReadonlyArray<Message.Message>> }
    return { json: { rewards: messages.map((chat) => Message.text(chat.at(-1)!).split(" ").length) } }
  }),
  ({ url }) => url
)

/** An OpenEnv server with episodes of `arithmetic-stories`. */
export const openEnv = Effect.gen(function* () {
  const command = yield* InProcess.start(["openenv", "--env", "arithmetic-stories", "--port", "0", "--sessions", "4"])
  const [, url] = yield* command.says(/OpenEnv server at (http:\/\/\S+?),/)
  return url
})
