/** Defines the tools of T1 (arXiv:2505.16986): search, filter, sort, remember, ask. None is ever run. */
import type { Definition } from "../tools/Script.ts"

type Type = "string" | "integer" | "boolean" | "strings" | "integers" | "numbers"

const schemaOf = (type: Type) =>
  type === "strings" || type === "integers" || type === "numbers"
    ? { type: "array", items: { type: type.slice(0, -1) } }
    : { type }

const tool = (
  name: string,
  description: string,
  properties: { readonly [name: string]: Type },
  required: ReadonlyArray<string>
): Definition => ({
  type: "function",
  function: {
    name,
    description,
    parameters: {
      type: "object",
      properties: Object.fromEntries(Object.entries(properties).map(([name, type]) => [name, schemaOf(type)] as const)),
      required
    }
  }
})

const hotel = {
  neighborhood: "strings",
  budget: "integer",
  rating: "numbers",
  stars: "integers",
  free_wifi_included: "boolean",
  breakfast_included: "boolean",
  gym_present: "boolean",
  pool_present: "boolean",
  is_pet_friendly: "boolean",
  has_spa_services: "boolean",
  smoking_allowed: "boolean",
  is_wheelchair_accessible: "boolean",
  has_free_parking: "boolean",
  airport_shuttle_present: "boolean"
} as const
const flight = {
  airline: "strings",
  budget: "integer",
  flight_class: "strings",
  num_layovers: "integers"
} as const
const restaurant = {
  cuisine: "strings",
  rating: "numbers",
  neighborhood: "strings",
  price_range: "strings"
} as const
const attraction = { type: "strings", neighborhood: "strings" } as const
const prior = { prior_results: "string" } as const

export const tools: ReadonlyArray<Definition> = [
  tool(
    "search_hotels",
    "Finds hotels in a city.",
    {
      city: "string",
      checkin_date: "strings",
      checkout_date: "strings",
      num_rooms: "integer",
      num_people: "integer",
      hotel_name: "strings",
      ...hotel
    },
    ["city", "checkin_date", "checkout_date"]
  ),
  tool("filter_hotels", "Keeps those of the hotels found that fit.", { ...prior, ...hotel }, ["prior_results"]),
  tool(
    "search_flights",
    "Finds flights between two cities.",
    {
      start_airport_city: "string",
      end_airport_city: "string",
      departure_date: "strings",
      arrival_date: "strings",
      ...flight
    },
    ["departure_date"]
  ),
  tool("filter_flights", "Keeps those of the flights found that fit.", { ...prior, ...flight }, ["prior_results"]),
  tool("search_restaurants", "Finds restaurants in a city.", { city: "string", ...restaurant }, ["city"]),
  tool("filter_restaurants", "Keeps those of the restaurants found that fit.", { ...prior, ...restaurant }, [
    "prior_results"
  ]),
  tool("search_attractions", "Finds sights in a city.", { city: "string", ...attraction }, ["city"]),
  tool("filter_attractions", "Keeps those of the sights found that fit.", { ...prior, ...attraction }, [
    "prior_results"
  ]),
  tool(
    "search_nearest",
    "Finds what of one list is nearest to what of another.",
    { hotels: "string", restaurants: "string", attractions: "string" },
    []
  ),
  tool("sort_results", "Sorts what was found.", { results: "string", sort_by: "string", ascending: "boolean" }, [
    "results",
    "sort_by"
  ]),
  tool("adjust_date", "A date some days earlier or later.", { date: "string", days: "integer" }, ["date", "days"]),
  tool("save_to_cache", "Remembers what was found under a key.", { key: "string", value: "string" }, ["key", "value"]),
  tool("get_results_from_cache", "What is remembered under a key.", { key: "string" }, ["key"]),
  tool("seek_information", "Asks the user for what is missing.", { query: "string" }, ["query"])
]

export const names: ReadonlySet<string> = new Set(tools.map(({ function: { name } }) => name))
