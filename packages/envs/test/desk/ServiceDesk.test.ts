/** A clerk and a customer: the shop's rules, what wishes come to, and conversations with a scripted customer. */
import { Environment, Laws, Message, SeededRandom, ServerManager, Tokenizer, ToolCalls } from "@atropos/core"
import { Opponent } from "@atropos/envs"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option, Result, Schema, Stream } from "effect"
import * as Claims from "../../src/desk/Claims.ts"
import * as Conversation from "../../src/desk/Conversation.ts"
import * as Shop from "../../src/desk/Shop.ts"
import * as Wishes from "../../src/desk/Wishes.ts"
import * as ServiceDesk from "../../src/ServiceDesk.ts"

const seeds = Schema.Natural
const taskOf = (seed: number) => Wishes.draw(SeededRandom.seeded(seed, 0))
const worth = (task: Wishes.Task, one: Parameters<typeof Conversation.judge>[1]) => {
  const { orders, told } = Conversation.judge(task, one)
  return orders * told
}

/** Verifies whoever says that they are nobody, and tells what it was told. */
const verifying: ServerManager.Script = (request) => {
  const messages = "messages" in request ? request.messages : []
  const last = messages.at(-1)!
  if (last.role === "tool") return `I was told: ${Message.text(last)}`
  return Message.text(last) === "I am nobody."
    ? ToolCalls.writeCall({ name: "verify_customer", arguments: { name: "nobody", postcode: "1" } })
    : "Who are you?"
}

describe("the shop", () => {
  it.prop("says and changes nothing before a customer is verified by their postcode", [seeds], ([seed]) => {
    const { calls, customer, shop } = taskOf(seed)
    for (const [name, args] of calls.slice(1)) assert.isTrue(Result.isFailure(Shop.call(shop, name, args)))
    assert.isTrue(Result.isFailure(Shop.call(shop, "list_orders", {})))
    const other = { name: customer.name, postcode: "00000" }
    assert.isTrue(Result.isFailure(Shop.call(shop, "verify_customer", other)))
  })

  it.prop("shows a customer's own orders alone, and changes no others", [seeds], ([seed]) => {
    const { customer, shop } = taskOf(seed)
    const verified = Wishes.after(shop, [["verify_customer", { ...customer }]])
    const { reply } = Result.getOrThrow(Shop.call(verified, "list_orders", {}))
    for (const { customer: owner, id } of shop.orders) {
      assert.strictEqual(reply.includes(id), owner === customer.name)
      if (owner === customer.name) continue
      assert.isTrue(Result.isFailure(Shop.call(verified, "cancel_order", { order: id })))
    }
  })

  it("refuses what does not fit, in words", () => {
    const { shop } = taskOf(1)
    const fault = (name: string, args: unknown) => Result.getOrThrow(Result.flip(Shop.call(shop, name, args)))
    assert.match(fault("fly", {}), /there is no tool fly; there are: verify_customer/)
    assert.match(fault("constructor", {}), /there is no tool constructor/)
    assert.match(fault("cancel_order", { number: 1 }), /wrong arguments/)
    assert.match(fault("cancel_order", null), /wrong arguments/)
  })
})

describe("a wish", () => {
  it.effect.prop("can be done, and only by doing it and nothing else", [seeds], ([seed]) => {
    const task = taskOf(seed)
    const score = (group: ReadonlyArray<Parameters<typeof Conversation.judge>[1]>) =>
      Effect.succeed(group.map((one) => worth(task, one)))
    return Laws.goldOnTop(score, Claims.gold(task), Claims.wrong(task), [0, 1])
  })

  it.prop("is never fulfilled by a clerk who does nothing", [seeds], ([seed]) => {
    const task = taskOf(seed)
    assert.strictEqual(worth(task, Claims.conversation([], "I am sorry, that is impossible.")), 0)
    const identity = task.calls.slice(0, 1)
    // To know an amount takes no change, but the amount.
    assert.strictEqual(worth(task, Claims.conversation(identity, "All is done.")), 0)
  })

  it("is judged by the address itself, not by how it is written", () => {
    const task = Array.from({ length: 50 }, (_, seed) => taskOf(seed)).find(({ calls }) =>
      calls.some(([name]) => name === "change_address")
    )!
    const written = (change: (address: string) => string) =>
      worth(
        task,
        Claims.conversation(
          task.calls.map(([name, args]) =>
            name === "change_address" ? [name, { ...args, address: change(args["address"]!) }] : [name, args]
          ),
          `It is ${task.told === undefined ? "done" : Shop.money(task.told.cents)}.`
        )
      )
    assert.strictEqual(
      written((address) => ` ${address.toUpperCase()}. `),
      1
    )
    assert.strictEqual(
      written((address) => `1${address}`),
      0
    )
  })
})

describe("a conversation", () => {
  const first = { temperature: 1, maxTokenLength: 20_000, groupSize: 2 }
  const rolled = (customer: ServerManager.Script, clerk: ServerManager.Script) =>
    Effect.gen(function* () {
      const { groups, metrics } = yield* Environment.Environment
      const group = Option.getOrThrow(yield* Stream.runHead(groups))
      return { group, metrics: yield* metrics }
    }).pipe(
      Effect.provide(
        ServiceDesk.layer(first).pipe(
          Layer.provide([ServerManager.layerScripted(clerk), Opponent.layerScripted(customer), Tokenizer.layerBytes])
        )
      )
    )

  it.effect("goes back and forth until the customer ends it; the clerk alone is trained, and never sees the role", () =>
    Effect.gen(function* () {
      const toCustomer: Array<ReadonlyArray<Message.Message>> = []
      const customer: ServerManager.Script = (request) => {
        const messages = "messages" in request ? request.messages : []
        toCustomer.push(messages)
        const turns = messages.filter(({ role }) => role === "assistant").length
        return turns === 0
          ? "<think>My role.</think>Hello, a question."
          : turns === 1
            ? "I am nobody."
            : Conversation.mark
      }
      const { group, metrics } = yield* rolled(customer, verifying)
      assert.deepStrictEqual(Array.from(group.scores), [0, 0])
      const [messages] = group.messages!
      assert.deepStrictEqual(
        messages!.map(({ role }) => role),
        ["system", "user", "assistant", "user", "assistant", "tool", "assistant"]
      )
      assert.strictEqual(Message.text(messages![1]!), "Hello, a question.")
      assert.match(Message.text(messages![5]!), /^error: there is no such customer/)
      assert.notInclude(JSON.stringify(messages), "You play a customer")
      // To the customer the clerk is the other side, and its calls are not to be seen.
      assert.deepStrictEqual(
        toCustomer.at(-1)!.map(({ role }) => role),
        ["system", "user", "assistant", "user", "assistant", "user"]
      )
      assert.notInclude(JSON.stringify(toCustomer), "verify_customer")
      assert.strictEqual(metrics["opponent/calls"], 6)
      assert.isUndefined(group.rewards?.find(({ orders }) => orders !== undefined && orders > 1))
    })
  )

  it.effect("ends where the clerk hangs up or its turns are used up, and counts what was done", () =>
    Effect.gen(function* () {
      const silent = yield* rolled(
        () => "Hello?",
        () => "<think>I will say nothing.</think>"
      )
      assert.deepStrictEqual(Array.from(silent.group.scores), [0, 0])
      const endless = yield* rolled(
        () => "Hello?",
        () => ToolCalls.writeCall({ name: "list_orders", arguments: {} })
      )
      assert.deepStrictEqual(Array.from(endless.group.scores), [0, 0])
      assert.strictEqual(endless.group.messages![0]!.filter(({ role }) => role === "assistant").length, 16)
    })
  )

  it.effect("with a customer who says nothing is tried again, and is no reward", () =>
    Effect.gen(function* () {
      const { work } = yield* Environment.Environment
      const [one] = yield* work(0).pipe(Stream.take(1), Stream.runCollect)
      const failed = yield* Effect.flip(one!.rollOut)
      assert.include(failed.message, "the customer's message is empty")
    }).pipe(
      Effect.provide(
        ServiceDesk.layer(first).pipe(
          Layer.provide([
            ServerManager.layerScripted(() => "Hello."),
            Opponent.layerScripted(() => " "),
            Tokenizer.layerBytes
          ])
        )
      )
    )
  )

  it.effect("needs a customer", () =>
    Effect.gen(function* () {
      const failed = yield* Effect.flip(
        Layer.build(
          ServiceDesk.layer(first).pipe(
            Layer.provide([ServerManager.layerScripted(() => "Hello."), Opponent.layerNone, Tokenizer.layerBytes])
          )
        )
      )
      assert.include(JSON.stringify(failed), "--opponent.base_url")
    }).pipe(Effect.scoped)
  )
})
