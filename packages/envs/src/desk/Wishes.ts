/**
 * Draws a customer's task from a seed: one or two wishes, the customer, and the required final state of the shop.
 *
 * The final state is computed by running the calls, so that it is reachable. A wish may violate the rules (cancelling a
 * delivered order): then nothing may change for it; it always comes with another wish, so that refusing everything
 * scores 0.
 */
import type { SeededRandom } from "@atropos/core"
import { Result } from "effect"
import * as Shop from "./Shop.ts"

type Random = SeededRandom.SeededRandom

export type Call = readonly [name: Shop.ToolName, args: { readonly [name: string]: string }]

export interface Task {
  readonly shop: Shop.Shop
  readonly customer: Shop.Customer
  /** The wishes, for the prompt of the model that plays the customer. */
  readonly wishes: ReadonlyArray<string>
  /** Calls that fulfil them. */
  readonly calls: ReadonlyArray<Call>
  /** The orders afterwards. */
  readonly goal: ReadonlyArray<Shop.Order>
  /** An amount to state to the customer, in cents, with other amounts that may be mentioned. */
  readonly told?: { readonly cents: number; readonly others: ReadonlyArray<number> }
}

const names = [
  "Ada Brandt",
  "Ben Okafor",
  "Carla Weiss",
  "Dmitri Sokol",
  "Elif Demir",
  "Farid Azimi",
  "Grete Holm",
  "Hugo Lemaire"
]
const goods = [
  "kettle",
  "lamp",
  "backpack",
  "umbrella",
  "chess set",
  "blanket",
  "toaster",
  "clock",
  "mirror",
  "vase",
  "stool",
  "rug"
]
const streets = ["Mill Lane", "Station Road", "North Bridge", "Castle Hill", "River Walk", "Old Harbour"]

const address = (random: Random): string => `${random.between(1, 99)} ${random.pick(streets)}`

const draws = 200

const shopOf = (random: Random): Shop.Shop => {
  const customers = random
    .sample(names, 3)
    .map((name): Shop.Customer => ({ name, postcode: String(random.between(10_000, 99_999)) }))
  const ids = new Set<string>()
  while (ids.size < 9) ids.add(`${random.pick(["A", "B", "C"])}${random.between(1000, 9999)}`)
  const [...numbers] = ids
  return {
    customers,
    verified: undefined,
    // No customer has ordered an item twice, since customers name orders by their items.
    orders: customers.flatMap(({ name }) => {
      const things = random.sample(goods, 8).map((thing) => ({ name: thing, cents: random.between(450, 9_999) }))
      return [things.slice(0, 2), things.slice(2, 5), things.slice(5)].map((some, index): Shop.Order => ({
        id: numbers.pop()!,
        customer: name,
        status: index === 0 ? "pending" : index === 1 ? "delivered" : random.pick(["pending", "delivered"]),
        address: address(random),
        things: some,
        returned: []
      }))
    })
  }
}

interface Wish {
  readonly text: string
  readonly calls: ReadonlyArray<Call>
  readonly told?: Task["told"]
}

const kinds: { readonly [kind: string]: (random: Random, order: Shop.Order) => Wish | undefined } = {
  cancel: (_, { id, status, things }) =>
    status === "pending"
      ? { text: `You want to cancel your order with the ${things[0]!.name}.`, calls: [["cancel_order", { order: id }]] }
      : undefined,
  move: (random, { id, status, things }) => {
    const to = address(random)
    return status === "pending"
      ? {
          text: `You want your order with the ${things[0]!.name} to be sent to ${to} instead.`,
          calls: [["change_address", { order: id, address: to }]]
        }
      : undefined
  },
  giveBack: (random, { id, status, things }) => {
    const { name } = random.pick(things)
    return status === "delivered"
      ? {
          text: `You want to send the ${name} back that you got.`,
          calls: [["return_thing", { order: id, thing: name }]]
        }
      : undefined
  },
  total: (_, order) => ({
    text: `You want to know the total of your order with the ${order.things[0]!.name}. Ask for the exact amount.`,
    calls: [],
    told: { cents: Shop.totalOf(order), others: order.things.map(({ cents }) => cents) }
  })
}

const refused = ({ things }: Shop.Order): Wish => ({
  text: `You want to cancel your order with the ${things[0]!.name}, which has arrived already. If that is impossible, accept it.`,
  calls: []
})

/** The orders after some calls. Throws if a call is refused: a bug of the generator. */
export const after = (shop: Shop.Shop, calls: ReadonlyArray<Call>): Shop.Shop =>
  calls.reduce(
    (state, [name, args]) => Result.getOrThrowWith(Shop.call(state, name, args), (why) => new Error(why)).shop,
    shop
  )

export const draw = (random: Random): Task => {
  for (let tried = 0; tried < draws; tried++) {
    const shop = shopOf(random)
    const customer = random.pick(shop.customers)
    const own = random.shuffle(shop.orders.filter(({ customer: name }) => name === customer.name))
    const wish = kinds[random.pick(Object.keys(kinds))]!(random, own[0]!)
    if (wish === undefined) continue
    const arrived = own.slice(1).find(({ status }) => status === "delivered")
    const second = random.chance(0.5)
      ? undefined
      : random.chance(0.5) && arrived !== undefined
        ? refused(arrived)
        : kinds[random.pick(["cancel", "move", "giveBack"])]!(random, own[1]!)
    const wishes = random.shuffle([wish, ...(second === undefined ? [] : [second])])
    const identity: Call = ["verify_customer", { name: customer.name, postcode: customer.postcode }]
    const calls = [identity, ...wishes.flatMap((one) => one.calls)]
    return {
      shop,
      customer,
      wishes: wishes.map(({ text }) => text),
      calls,
      goal: after(shop, calls).orders,
      ...(wish.told !== undefined && { told: wish.told })
    }
  }
  throw new Error("no wish fits any of the drawn shops")
}
