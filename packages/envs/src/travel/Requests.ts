/** Generates conversations about journeys: requests to search, filter and sort, and messages that need no tool. */
import type { SeededRandom, ToolCalls } from "@atropos/core"
import type { Conversation, Turn } from "./Conversation.ts"

type Random = SeededRandom.SeededRandom
type Arguments = { readonly [name: string]: unknown }

const cities = [
  "Austin",
  "Boston",
  "Chicago",
  "Denver",
  "Miami",
  "New Orleans",
  "Portland",
  "San Diego",
  "Seattle"
] as const
const months = ["April", "May", "June", "July", "August", "September"] as const
const greetings = ["Hello, where shall it go?", "Hi! What can I plan for you?", "Good day. How can I help?"] as const
const thanks = ["That is all, thank you!", "Great, thanks a lot.", "Perfect. Goodbye!"] as const

const call = (name: string, args: Arguments): ToolCalls.Call => ({ name, arguments: args })

interface Wish {
  readonly words: string
  readonly input: Arguments
}

interface Domain {
  readonly things: string
  /** Undefined: no required argument can be omitted. */
  readonly missing: ((random: Random) => string) | undefined
  readonly request: (random: Random) => Wish
  readonly wishes: ReadonlyArray<(random: Random) => Wish>
  readonly orders: ReadonlyArray<readonly [words: string, by: string, ascending: boolean]>
}

const flag = (name: string, words: string) => (): Wish => ({ words, input: { [name]: true } })
const oneOf = (name: string, choices: ReadonlyArray<string>, words: (choice: string) => string) => (random: Random) => {
  const choice = random.pick(choices)
  return { words: words(choice), input: { [name]: [choice] } }
}

const stay = (random: Random) => {
  const [month, day] = [random.pick(months), random.between(1, 20)]
  return [`${month} ${day}, 2026`, `${month} ${day + random.between(1, 8)}, 2026`] as const
}

const domains: ReadonlyArray<Domain> = [
  {
    things: "hotels",
    missing: (random) => `I need a hotel in ${random.pick(cities)}, but I have not said when yet.`,
    request: (random) => {
      const [city, [from, to], people] = [random.pick(cities), stay(random), random.between(1, 4)]
      return {
        words: `Find hotels in ${city} for ${people} ${people === 1 ? "person" : "people"}, check-in on ${from}, check-out on ${to}.`,
        input: { city, checkin_date: [from], checkout_date: [to], num_people: people }
      }
    },
    wishes: [
      flag("free_wifi_included", "free wifi"),
      flag("breakfast_included", "breakfast included"),
      flag("gym_present", "a gym"),
      flag("pool_present", "a pool"),
      flag("has_free_parking", "free parking"),
      (random) => {
        const budget = random.between(8, 30) * 10
        return { words: `a price of at most ${budget} dollars`, input: { budget } }
      },
      (random) => {
        const stars = random.between(3, 5)
        return { words: `${stars} stars`, input: { stars: [stars] } }
      }
    ],
    orders: [
      ["the cheapest first", "price", true],
      ["the best rated first", "rating", false]
    ]
  },
  {
    things: "flights",
    missing: (random) => {
      const [from, to] = random.sample(cities, 2)
      return `I want to fly from ${from!} to ${to!}. I am not sure about the day yet.`
    },
    request: (random) => {
      const [from, to] = random.sample(cities, 2)
      const [day] = stay(random)
      return {
        words: `Which flights are there from ${from!} to ${to!} on ${day}?`,
        input: { start_airport_city: from!, end_airport_city: to!, departure_date: [day] }
      }
    },
    wishes: [
      oneOf("flight_class", ["economy", "business", "first"], (one) => `${one} class`),
      oneOf("airline", ["Blue Sky", "Northern Wings", "Coastal Air"], (one) => `the airline ${one}`),
      () => ({ words: "no layovers", input: { num_layovers: [0] } }),
      (random) => {
        const budget = random.between(15, 90) * 10
        return { words: `a price of at most ${budget} dollars`, input: { budget } }
      }
    ],
    orders: [
      ["the cheapest first", "price", true],
      ["the longest first", "duration", false]
    ]
  },
  {
    things: "restaurants",
    missing: undefined,
    request: (random) => {
      const city = random.pick(cities)
      return { words: `Where can one eat in ${city}?`, input: { city } }
    },
    wishes: [
      oneOf("cuisine", ["Italian", "Mexican", "Thai", "Vegan"], (one) => `${one} cuisine`),
      oneOf("neighborhood", ["Downtown", "Old Town", "Riverside"], (one) => `a place in ${one}`),
      oneOf("price_range", ["$", "$$", "$$$"], (one) => `a price range of ${one}`)
    ],
    orders: [["the best rated first", "rating", false]]
  },
  {
    things: "attractions",
    missing: undefined,
    request: (random) => {
      const city = random.pick(cities)
      return { words: `What is there to see in ${city}?`, input: { city } }
    },
    wishes: [
      oneOf("type", ["museum", "park", "landmark", "zoo"], (one) => `the type ${one}`),
      oneOf("neighborhood", ["Downtown", "Old Town", "Riverside"], (one) => `something in ${one}`)
    ],
    orders: [["sorted by name, from A on", "name", true]]
  }
]

const saved = (key: string): ToolCalls.Call => call("save_to_cache", { key, value: key })

const filter = (random: Random, { things, wishes }: Domain): Turn => {
  const wished = random.sample(wishes, random.between(1, 2)).map((wish) => wish(random))
  return {
    said: `Of these I want ${wished.map(({ words }) => words).join(" and ")}.`,
    expected: [
      call("get_results_from_cache", { key: things }),
      call(
        `filter_${things}`,
        Object.assign({ prior_results: things }, ...wished.map(({ input: args }) => args)) as Arguments
      ),
      saved(`filtered_${things}`)
    ]
  }
}

const sort = (random: Random, { orders, things }: Domain, from: string): Turn => {
  const [words, by, ascending] = random.pick(orders)
  return {
    said: `Show me all of those, ${words} (by ${by}).`,
    expected: [
      call("get_results_from_cache", { key: from }),
      call("sort_results", { results: from, sort_by: by, ascending }),
      saved(`sorted_${things}`)
    ]
  }
}

/** A conversation with one to `maxTurns` user messages. */
export const draw = (random: Random, maxTurns: number): Conversation => {
  const domain = random.pick(domains)
  const { missing, request, things } = domain
  const requested = request(random)
  const search: Turn = { said: requested.words, expected: [call(`search_${things}`, requested.input), saved(things)] }
  const isMissing = missing !== undefined && random.chance(0.3)
  const isFiltered = random.chance(0.7)
  const turns: Array<Turn> = [
    ...(isMissing ? [{ said: missing(random), expected: [call("seek_information", {})] }] : []),
    { ...search, said: isMissing ? `I know now. ${search.said}` : search.said },
    ...(isFiltered ? [filter(random, domain)] : []),
    ...(random.chance(0.5) ? [sort(random, domain, isFiltered ? `filtered_${things}` : things)] : []),
    ...(random.chance(0.5) ? [{ said: random.pick(thanks), expected: [] }] : [])
  ]
  const [first, ...rest] = turns.slice(0, maxTurns)
  return { greeting: random.chance(0.5) ? [random.pick(greetings)] : [], turns: [first!, ...rest] }
}
