import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as SharedChats from "../../src/gateway/session/SharedChats.ts"
import type { Message } from "../../src/trajectory/Message.ts"

const said = (role: Message["role"], content: string): Message => ({ role, content })
const again = (messages: ReadonlyArray<Message>): ReadonlyArray<Message> =>
  JSON.parse(JSON.stringify(messages)) as ReadonlyArray<Message>

const Chat = Schema.Array(
  Schema.Struct({
    role: Schema.Literals(["user", "assistant"]),
    content: Schema.Literals(["", "a", "b"]),
    name: Schema.optionalKey(Schema.Literals(["x", "y"]))
  })
)

describe("SharedChats", () => {
  it("takes over the messages of the chat that a chat goes on from, and of no other", () => {
    const chats = SharedChats.make()
    const first = [said("system", "one"), said("user", "hi"), said("assistant", "yes")]
    const second = [said("system", "two"), said("user", "hi"), said("assistant", "no")]
    chats.keep(first)
    chats.keep(second)
    const shared = chats.share(again([...first, said("user", "on")]))
    assert.isTrue(first.every((message, at) => message === shared[at]))
    assert.deepStrictEqual(shared[3], said("user", "on"))
    assert.strictEqual(chats.share(again(second))[2], second[2])
  })

  it.prop("gives back what it is given", [Schema.Array(Chat)], ([all]) => {
    const chats = SharedChats.make()
    for (const chat of all) {
      assert.deepStrictEqual(chats.share(chat), chat)
      chats.keep(chat)
    }
  })
})
