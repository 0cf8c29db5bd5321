/**
 * Models a small shop with customers and their orders, and the clerk's tools. Pure: a call maps one state to the next,
 * so that the result of an episode follows from its calls alone.
 *
 * The tools enforce the rules: nothing about orders is shown or changed before the customer has been verified by name
 * and postcode; only pending orders can be cancelled or redirected; only items of delivered orders can be returned.
 */
import * as Tool from "../kit/tools/Tool.ts"
import { Effect, Result, Schema } from "effect"

export interface Thing {
  readonly name: string
  readonly cents: number
}

export interface Order {
  readonly id: string
  readonly customer: string
  readonly status: "pending" | "delivered" | "cancelled"
  readonly address: string
  readonly things: ReadonlyArray<Thing>
  /** Names of returned items. */
  readonly returned: ReadonlyArray<string>
}

export interface Customer {
  readonly name: string
  readonly postcode: string
}

export interface Shop {
  readonly customers: ReadonlyArray<Customer>
  readonly orders: ReadonlyArray<Order>
  /** The customer whose orders may be discussed. */
  readonly verified: string | undefined
}

/** The result of a call: the next state with a reply, or why it was refused. */
export type Done = Result.Result<{ readonly shop: Shop; readonly reply: string }, string>

export const money = (cents: number): string => `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, "0")}`

export const totalOf = ({ things }: Pick<Order, "things">): number => things.reduce((sum, { cents }) => sum + cents, 0)

const same = (one: string, other: string): boolean => one.trim().toLowerCase() === other.trim().toLowerCase()

const ownOrder = ({ orders, verified }: Shop, id: string): Result.Result<Order, string> => {
  if (verified === undefined) return Result.fail("the customer has not been verified")
  const order = orders.find((one) => same(one.id, id) && one.customer === verified)
  return order === undefined ? Result.fail(`${verified} has no order ${id}`) : Result.succeed(order)
}

const changed = (shop: Shop, order: Order, reply: string): Done =>
  Result.succeed({ shop: { ...shop, orders: shop.orders.map((one) => (one.id === order.id ? order : one)) }, reply })

const pending = (shop: Shop, id: string): Result.Result<Order, string> =>
  Result.flatMap(ownOrder(shop, id), (order) =>
    order.status === "pending"
      ? Result.succeed(order)
      : Result.fail(`the order ${order.id} is ${order.status}, not pending`)
  )

const format = ({ address, id, returned, status, things }: Order): string =>
  `${id}: ${status}, to ${address}; ${things.map(({ cents, name }) => `${name} (${money(cents)})${returned.includes(name) ? " returned" : ""}`).join(", ")}`

interface Clerical<Args> {
  readonly description: string
  readonly parameters: Schema.Codec<Args, unknown>
  readonly run: (shop: Shop, args: Args) => Done
}

const clerical = <Args>(tool: Clerical<Args>) => {
  const decode = Schema.decodeUnknownResult(tool.parameters)
  const { parameters } = Tool.make({ ...tool, name: "", run: () => Effect.succeed("") })
  return {
    description: tool.description,
    parameters,
    run: (shop: Shop, args: unknown): Done =>
      Result.flatMap(
        Result.mapError(decode(args), ({ message }) => `wrong arguments: ${message}`),
        (read) => tool.run(shop, read)
      )
  }
}

const order = Schema.String.annotate({ description: "number of the order, such as A1234" })

const tools = {
  verify_customer: clerical({
    description: "Verifies a customer by name and postcode. Needed before anything else.",
    parameters: Schema.Struct({ name: Schema.String, postcode: Schema.String }),
    run: (shop, { name, postcode }) => {
      const found = shop.customers.find((one) => same(one.name, name) && same(one.postcode, postcode))
      return found === undefined
        ? Result.fail("there is no such customer with that postcode")
        : Result.succeed({ shop: { ...shop, verified: found.name }, reply: `${found.name} is verified` })
    }
  }),
  list_orders: clerical({
    description: "The orders of the verified customer, with what is in them.",
    parameters: Schema.Struct({}),
    run: (shop) =>
      shop.verified === undefined
        ? Result.fail("the customer has not been verified")
        : Result.succeed({
            shop,
            reply: shop.orders
              .filter(({ customer }) => customer === shop.verified)
              .map(format)
              .join("\n")
          })
  }),
  cancel_order: clerical({
    description: "Cancels a pending order.",
    parameters: Schema.Struct({ order }),
    run: (shop, { order: id }) =>
      Result.flatMap(pending(shop, id), (one) =>
        changed(shop, { ...one, status: "cancelled" }, `${one.id} is cancelled`)
      )
  }),
  change_address: clerical({
    description: "Changes where a pending order is sent.",
    parameters: Schema.Struct({ order, address: Schema.NonEmptyString }),
    run: (shop, { address, order: id }) =>
      Result.flatMap(pending(shop, id), (one) =>
        changed(shop, { ...one, address: address.trim() }, `${one.id} is sent to ${address.trim()}`)
      )
  }),
  return_thing: clerical({
    description: "Takes one thing of a delivered order back.",
    parameters: Schema.Struct({ order, thing: Schema.String }),
    run: (shop, { order: id, thing }) =>
      Result.flatMap(ownOrder(shop, id), (one) => {
        const found = one.things.find(({ name }) => same(name, thing))
        if (one.status !== "delivered") return Result.fail(`the order ${one.id} is ${one.status}, not delivered`)
        if (found === undefined) return Result.fail(`the order ${one.id} has no ${thing}`)
        if (one.returned.includes(found.name)) return Result.fail(`the ${found.name} was returned already`)
        return changed(
          shop,
          { ...one, returned: [...one.returned, found.name].toSorted() },
          `the ${found.name} may be sent back`
        )
      })
  })
} as const

export type ToolName = keyof typeof tools

/** In OpenAI's form. */
export const definitions = Object.entries(tools).map(([name, { description, parameters }]) => ({
  type: "function" as const,
  function: { name, description, parameters }
}))

const isTool = (name: string): name is ToolName => Object.hasOwn(tools, name)

export const call = (shop: Shop, name: string, args: unknown): Done =>
  isTool(name)
    ? tools[name].run(shop, args)
    : Result.fail(`there is no tool ${name}; there are: ${Object.keys(tools).join(", ")}`)
