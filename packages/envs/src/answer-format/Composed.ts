/**
 * Composes random formats: three to five parts in XML, JSON, YAML or TOML. The original defined but disabled them, as
 * its patterns could not parse them.
 */
import type { SeededRandom } from "@atropos/core"
import type { Format, Rule, Section } from "./Rule.ts"

const parts = [
  "restatement",
  "context",
  "requirements",
  "assumptions",
  "insights",
  "considerations",
  "plan",
  "approach",
  "strategy",
  "steps",
  "verification",
  "reflection",
  "limits",
  "sources"
] as const

type Keys = readonly [first: string, ...others: ReadonlyArray<string>]

const linesOf = ([first, ...others]: Keys, separator: string, value: "yaml" | "quoted"): Rule => {
  const line = (key: string) => ({ key, separator, value })
  return { kind: "lines", lines: [line(first), ...others.map(line), line("answer")] }
}

const section = (key: string): Section => ({ tag: key.toUpperCase(), for: `the ${key}` })

const written: { readonly [name: string]: (keys: Keys) => Rule } = {
  "composed-xml": ([first, ...others]) => ({
    kind: "sections",
    sections: [section(first), ...others.map(section), { tag: "ANSWER", isAnswer: true }]
  }),
  "composed-json": ([first, ...others]) => ({ kind: "json", shape: "object", keys: [first, ...others, "answer"] }),
  "composed-yaml": (keys) => linesOf(keys, ": ", "yaml"),
  "composed-toml": (keys) => linesOf(keys, " = ", "quoted")
}

export const names: ReadonlyArray<string> = Object.keys(written)

export const draw = (name: string, random: SeededRandom.SeededRandom): Format => {
  const [first, ...others] = random.sample(parts, random.between(2, 4))
  return { name, rule: written[name]!([first!, ...others]) }
}
