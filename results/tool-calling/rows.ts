/**
 * Writes rows of single tool calls in the form of NousResearch/XLAM-Atropos: `rows.ts FOLDER`.
 *
 * `warm-up.jsonl` and `training.jsonl` ask for 48 tools, `held-out.jsonl` for 12 others that no training row mentions.
 * Each row offers three tools and asks for one of them, with every argument in the request. Seeded: always the same.
 */
import { SeededRandom } from "@atropos/core"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"

/** Arguments by name: a list to choose from, or the bounds of an integer. */
const values: { readonly [argument: string]: ReadonlyArray<string> | readonly [number, number] } = {
  city: ["Lisbon", "Oslo", "Nairobi", "Quito", "Hanoi", "Perth", "Cork", "Graz", "Lima", "Turin", "Kyoto", "Dakar"],
  person: ["Ada", "Bruno", "Chidi", "Dalia", "Emre", "Freya", "Goran", "Hana"],
  day: ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
  room: ["kitchen", "hall", "study", "bedroom", "cellar", "attic"],
  artist: ["Mozart", "Bowie", "Abba", "Queen", "Coltrane", "Bach"],
  level: [10, 99],
  count: [2, 19]
}

/** What a family of tools does, and what to: the last two of each are held out. */
const families: ReadonlyArray<{
  readonly verb: string
  readonly requests: ReadonlyArray<string>
  readonly nouns: string
}> = [
  {
    verb: "get",
    requests: ["What is the NOUN of {city}?", "Tell me the NOUN of {city}."],
    nouns: "weather population mayor history traffic rent area climate altitude name"
  },
  {
    verb: "book",
    requests: ["Book a NOUN in {city} on {day}.", "I need a NOUN in {city} on {day}."],
    nouns: "hotel train table taxi guide court boat bike tour room"
  },
  {
    verb: "play",
    requests: ["Play a NOUN by {artist}.", "I want to hear a NOUN by {artist}."],
    nouns: "song record concert march waltz ballad hymn sonata tune dance"
  },
  {
    verb: "set",
    requests: ["Set the NOUN in the {room} to {level}.", "Turn the NOUN in the {room} to {level}."],
    nouns: "lamp radio fan heater screen clock oven blind alarm speaker"
  },
  {
    verb: "send",
    requests: ["Send a NOUN to {person}.", "Let {person} have a NOUN."],
    nouns: "letter card gift photo map key message invitation poem report"
  },
  {
    verb: "buy",
    requests: ["Buy {count} NOUNs for {person}.", "Get {person} {count} NOUNs."],
    nouns: "ticket apple book pen cup chair egg rose shirt lemon"
  }
]
const ofFamily = (part: (nouns: ReadonlyArray<string>) => ReadonlyArray<string>) =>
  families.flatMap(({ nouns, requests, verb }) =>
    part(nouns.split(" ")).map((noun) => [
      `${verb}_${noun}`,
      ...requests.map((request) => request.replace("NOUN", noun))
    ])
  )
const training = ofFamily((nouns) => nouns.slice(0, -2))
const heldOut = ofFamily((nouns) => nouns.slice(-2))

/** A tool's name, and requests with its arguments in braces. */
type Tool = ReadonlyArray<string>

const slot = /\{(\w+)\}/g
const argumentsOf = ([, request]: Tool): ReadonlyArray<string> => [...request!.matchAll(slot)].map(([, name]) => name!)
const isInteger = (argument: string): boolean => typeof values[argument]![0] === "number"

/** `{"name": "get_time", "arguments": {"city": "string"}}` */
const signatureOf = (tool: Tool): string => {
  const types = argumentsOf(tool).map((name) => `"${name}": "${isInteger(name) ? "integer" : "string"}"`)
  return `{"name": "${tool[0]}", "arguments": {${types.join(", ")}}}`
}

const rowOf = (random: SeededRandom.SeededRandom, among: ReadonlyArray<Tool>): string => {
  const offered = random.sample(among, 3)
  const [name, ...requests] = random.pick(offered)
  const given: { [argument: string]: string } = {}
  const request = random.pick(requests).replaceAll(slot, (_, argument: string) => {
    const choices = values[argument]!
    const value = isInteger(argument)
      ? random.between(choices[0] as number, choices[1] as number)
      : random.pick(choices as ReadonlyArray<string>)
    given[argument] = JSON.stringify(value)
    return String(value)
  })
  const written = Object.entries(given).map(([argument, value]) => `"${argument}": ${value}`)
  const system = `You have these tools:
${offered.map(signatureOf).join("\n")}
Call the one that the request needs, and write nothing else:
<tool_call>{"name": "tool", "arguments": {"argument": "value"}}</tool_call>`
  const call = `<tool_call>{"name": "${name}", "arguments": {${written.join(", ")}}}</tool_call>`
  return JSON.stringify({
    conversations: [
      { from: "system", value: system },
      { from: "human", value: request },
      { from: "gpt", value: call }
    ]
  })
}

const folder = process.argv[2]
if (folder === undefined) throw new Error("rows.ts FOLDER")
mkdirSync(folder, { recursive: true })
for (const [name, seed, count, among] of [
  ["warm-up", 1, 256, training],
  ["training", 2, 512, training],
  ["held-out", 3, 96, heldOut]
] as const) {
  const rows = Array.from({ length: count }, (_, index) => rowOf(SeededRandom.seeded(seed, index), among))
  writeFileSync(join(folder, `${name}.jsonl`), `${rows.join("\n")}\n`)
}
