/**
 * A strict reader of the text that Prometheus scrapes (https://prometheus.io/docs/instrumenting/exposition_formats/):
 * names, labels, escapes and values as the format has them; one HELP and one TYPE per family, before its samples; no
 * sample twice; histograms that add up.
 */
import { assert } from "@effect/vitest"

export interface Sample {
  readonly name: string
  readonly labels: { readonly [name: string]: string }
  readonly value: number
}

const sampleLine = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? ([^ ]+)$/
const labelPart = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/
const number = /^(?:[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?Inf|NaN)$/

const labelsOf = (text: string): { readonly [name: string]: string } => {
  const labels: Record<string, string> = {}
  for (let rest = text; rest !== "";) {
    const found = labelPart.exec(rest)
    if (found === null) return assert.fail(`not labels: ${text}`)
    const [whole, name, value] = found
    assert.notProperty(labels, name!)
    labels[name!] = value!.replaceAll(/\\(.)/g, (_, escaped: string) => (escaped === "n" ? "\n" : escaped))
    rest = rest.slice(whole.length)
  }
  return labels
}

const valueOf = (text: string): number => {
  assert.match(text, number)
  return Number(text.replace("Inf", "Infinity"))
}

/** The samples of a text; whatever is wrong with it fails. */
export const parse = (text: string): ReadonlyArray<Sample> => {
  assert.isTrue(text.endsWith("\n"), "the last line ends")
  const types = new Map<string, string>()
  const helps = new Set<string>()
  const begun = new Set<string>()
  const seen = new Set<string>()
  const samples: Array<Sample> = []
  const familyOf = (name: string): string => {
    const base = name.replace(/_(bucket|sum|count)$/, "")
    return types.get(base) === "histogram" || types.get(base) === "summary" ? base : name
  }
  for (const line of text.split("\n").slice(0, -1)) {
    const comment = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.*)$/.exec(line)
    if (comment !== null) {
      const [, kind, name, said] = comment
      assert.isFalse(begun.has(name!), `${kind} of ${name} comes after its samples`)
      if (kind === "HELP") {
        assert.isFalse(helps.has(name!), `two HELP of ${name}`)
        assert.notMatch(said!.replaceAll(/\\[\\n]/g, ""), /\\/, `escapes in the HELP of ${name}`)
        helps.add(name!)
        continue
      }
      assert.isFalse(types.has(name!), `two TYPE of ${name}`)
      assert.include(["counter", "gauge", "histogram", "summary", "untyped"], said)
      types.set(name!, said!)
      continue
    }
    const found = sampleLine.exec(line)
    if (found === null) return assert.fail(`not a line of the format: ${line}`)
    const sample = { name: found[1]!, labels: labelsOf(found[2] ?? ""), value: valueOf(found[3]!) }
    const family = familyOf(sample.name)
    assert.isTrue(types.has(family), `${sample.name} has no TYPE`)
    begun.add(family)
    const key = JSON.stringify([sample.name, Object.entries(sample.labels).toSorted(([a], [b]) => (a < b ? -1 : 1))])
    assert.isFalse(seen.has(key), `twice: ${line}`)
    seen.add(key)
    samples.push(sample)
  }
  for (const [name, type] of types) if (type === "histogram") checkHistogram(name, samples)
  return samples
}

const withoutLe = (labels: Sample["labels"]): string =>
  JSON.stringify(Object.entries(labels).filter(([name]) => name !== "le"))

const checkHistogram = (name: string, samples: ReadonlyArray<Sample>): void => {
  const counts = samples.filter((sample) => sample.name === `${name}_count`)
  for (const count of counts) {
    const buckets = samples.filter(
      (sample) => sample.name === `${name}_bucket` && withoutLe(sample.labels) === withoutLe(count.labels)
    )
    assert.strictEqual(buckets.at(-1)?.labels["le"], "+Inf")
    assert.strictEqual(buckets.at(-1)?.value, count.value)
    const values = buckets.map(({ value }) => value)
    assert.deepStrictEqual(
      values.toSorted((a, b) => a - b),
      values,
      "buckets are cumulative"
    )
  }
}
