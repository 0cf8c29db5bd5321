/** Describes what makes a schema large: counts of its parts, lengths, and repetitions in patterns. */
import { isSchema } from "./SchemaProblem.ts"

const repetitions = (pattern: string): number =>
  Math.max(0, ...Array.from(pattern.matchAll(/\{(\d+)(?:,(\d*))?\}/g), ([, from, to]) => Number(to || from)))

export const extent = (schema: unknown): string => {
  const counts = { properties: 0, values: 0, schemas: 0, longest: 0, repeats: 0, depth: 0 }
  const visit = (value: unknown, depth: number): void => {
    if (Array.isArray(value)) return value.forEach((one) => visit(one, depth))
    if (!isSchema(value)) return
    counts.schemas++
    counts.depth = Math.max(counts.depth, depth)
    if (isSchema(value["properties"])) counts.properties += Object.keys(value["properties"]).length
    if (Array.isArray(value["enum"])) counts.values += value["enum"].length
    if (typeof value["pattern"] === "string") counts.repeats = Math.max(counts.repeats, repetitions(value["pattern"]))
    for (const word of ["minLength", "maxLength", "minItems", "maxItems"])
      counts.longest = Math.max(counts.longest, Number(value[word] ?? 0))
    for (const one of Object.values(value)) visit(one, depth + 1)
  }
  visit(schema, 1)
  return (
    `${counts.properties} properties, ${counts.values} values of enums, ${counts.schemas} objects in all, ` +
    `${counts.depth} levels, lengths up to ${counts.longest}, and patterns that repeat up to ${counts.repeats} times`
  )
}

/** Max objects of a schema. */
const maxObjects = 10_000

/** True for a schema of more objects than grammars are made of. */
export const isVast = (schema: unknown): boolean => {
  let count = 0
  const visit = (value: unknown): boolean => {
    if (typeof value !== "object" || value === null || (!Array.isArray(value) && ++count > maxObjects)) {
      return count > maxObjects
    }
    return (Array.isArray(value) ? value : Object.values(value)).some(visit)
  }
  return visit(schema)
}

export const tooLarge = (schema: unknown): string => `the schema is too large: it has ${extent(schema)}`
