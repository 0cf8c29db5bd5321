/**
 * Generates requests to an assistant with tools, and the calls that fulfil them. Pure: seeded.
 *
 * A request needs one call, or several in parallel; other tools are offered, too. Every argument is stated in the
 * request, in words that leave one way to write it.
 */
import type { SeededRandom, ToolCalls } from "@atropos/core"

/** A tool as the model reads it (OpenAI's form). */
export interface ToolDescription {
  readonly name: string
  readonly description: string
  readonly parameters: { readonly [name: string]: { readonly type: string; readonly description: string } }
}

/** A wish in words, and the call that fulfils it. */
interface Wish {
  readonly words: string
  readonly call: ToolCalls.Call
}

interface Capability {
  readonly tool: ToolDescription
  readonly wish: (random: SeededRandom.SeededRandom) => Wish
}

const cities = ["Lisbon", "Oslo", "Nairobi", "Quito", "Hanoi", "Perth", "Cork", "Graz"] as const
const people = ["Ada", "Bruno", "Chidi", "Dalia", "Emre", "Freya"] as const
const currencies = ["EUR", "USD", "JPY", "CHF", "KES"] as const
const rooms = ["kitchen", "hall", "study", "bedroom"] as const

const describe = (
  name: string,
  description: string,
  parameters: { readonly [parameter: string]: readonly [type: string, description: string] }
): ToolDescription => ({
  name,
  description,
  parameters: Object.fromEntries(
    Object.entries(parameters).map(([parameter, [type, reported]]) => [parameter, { type, description: reported }])
  )
})

const capabilities: ReadonlyArray<Capability> = [
  {
    tool: describe("get_weather", "The weather of a city on one of the next days.", {
      city: ["string", "name of the city"],
      days_ahead: ["integer", "0 for today, 1 for tomorrow, and so on"]
    }),
    wish: (random) => {
      const city = random.pick(cities)
      const days = random.between(0, 6)
      const when = days === 0 ? "today" : days === 1 ? "tomorrow" : `in ${days} days`
      return {
        words: `what the weather in ${city} will be ${when}`,
        call: { name: "get_weather", arguments: { city, days_ahead: days } }
      }
    }
  },
  {
    tool: describe("convert_currency", "Converts an amount of money at the present rate.", {
      amount: ["number", "how much"],
      from: ["string", "currency code, three letters"],
      to: ["string", "currency code, three letters"]
    }),
    wish: (random) => {
      const [from, to] = random.sample(currencies, 2)
      const amount = random.between(1, 900)
      return {
        words: `how much ${amount} ${from!} are in ${to!}`,
        call: { name: "convert_currency", arguments: { amount, from, to } }
      }
    }
  },
  {
    tool: describe("send_message", "Sends a text message to a person of the address book.", {
      recipient: ["string", "first name"],
      text: ["string", "the message, word for word"]
    }),
    wish: (random) => {
      const recipient = random.pick(people)
      const text = random.pick(["I am late", "call me back", "the train leaves at nine", "dinner is at eight"])
      return {
        words: `${recipient} to get the message "${text}"`,
        call: { name: "send_message", arguments: { recipient, text } }
      }
    }
  },
  {
    tool: describe("set_timer", "Starts a timer.", {
      minutes: ["integer", "how long"],
      label: ["string", "what for, one word"]
    }),
    wish: (random) => {
      const minutes = random.between(1, 90)
      const label = random.pick(["tea", "pasta", "laundry", "nap"])
      return {
        words: `a timer of ${minutes} minutes labelled "${label}"`,
        call: { name: "set_timer", arguments: { minutes, label } }
      }
    }
  },
  {
    tool: describe("set_light", "Sets the brightness of the light in a room.", {
      room: ["string", `one of ${rooms.join(", ")}`],
      percent: ["integer", "brightness, 0 (off) to 100"]
    }),
    wish: (random) => {
      const room = random.pick(rooms)
      const percent = random.between(0, 20) * 5
      return {
        words: `the light in the ${room} at ${percent} percent`,
        call: { name: "set_light", arguments: { room, percent } }
      }
    }
  },
  {
    tool: describe("find_train", "The next train between two cities.", {
      from: ["string", "name of the city"],
      to: ["string", "name of the city"]
    }),
    wish: (random) => {
      const [from, to] = random.sample(cities, 2)
      return { words: `the next train from ${from!} to ${to!}`, call: { name: "find_train", arguments: { from, to } } }
    }
  }
]

export interface Request {
  readonly request: string
  readonly tools: ReadonlyArray<ToolDescription>
  readonly expected: ReadonlyArray<ToolCalls.Call>
}

/** A request of one to `maxCalls` wishes. */
export const draw = (random: SeededRandom.SeededRandom, maxCalls: number): Request => {
  const offered = random.sample(capabilities, random.between(3, capabilities.length))
  const count = random.chance(0.5) ? 1 : random.between(1, maxCalls)
  // A tool may be needed twice, with other arguments.
  const wishes = new Map<string, Wish>()
  while (wishes.size < count) {
    const wish = random.pick(offered).wish(random)
    wishes.set(wish.words, wish)
  }
  const words = Array.from(wishes.keys())
  return {
    request: `I want ${words.length === 1 ? words[0]! : `${words.slice(0, -1).join("; ")}; and ${words.at(-1)!}`}.`,
    tools: offered.map(({ tool }) => tool),
    expected: Array.from(wishes.values(), ({ call }) => call)
  }
}

/** Tools as JSON Schema, one per line, as in Hermes prompts. */
export const toPrompt = (tools: ReadonlyArray<ToolDescription>): string =>
  tools
    .map(({ description, name, parameters }) =>
      JSON.stringify({
        type: "function",
        function: {
          name,
          description,
          parameters: { type: "object", properties: parameters, required: Object.keys(parameters) }
        }
      })
    )
    .join("\n")
