/**
 * Generated tasks: a record of which some fields are told, to be written as JSON that fits a schema.
 *
 * What is told must be said; what is not may be anything that fits. Every field is required and no other allowed, so
 * that an empty object is never enough.
 */
import { definitions, type Field, freeFields, type Json, type Random, toldFields } from "./Fields.ts"

export interface Task {
  readonly request: string
  /** JSON text. */
  readonly schema: string
  /** Values that must be said, by field. */
  readonly told: { readonly [field: string]: Json }
  /** An answer that is right. */
  readonly sample: string
  /** Answers that are wrong, in one field each. */
  readonly spoiled: ReadonlyArray<string>
}

const valuesOf = (fields: ReadonlyArray<Field>): { readonly [name: string]: Json } =>
  Object.fromEntries(fields.map(({ fits, name }) => [name, fits]))

/** Draws a task with so many told fields and so many free ones. */
export const draw = (random: Random): Task => {
  const known = random.sample(toldFields, random.between(1, 3)).map((make) => make(random))
  const free = random.sample(freeFields, random.between(2, 4)).map((make) => make(random))
  const fields = random.shuffle([...known, ...free])
  const usesDefinitions = free.some(({ name }) => name === "history")
  const schema = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    properties: Object.fromEntries(fields.map(({ name, schema: piece }) => [name, piece])),
    required: fields.map(({ name }) => name),
    additionalProperties: false,
    ...(usesDefinitions && { $defs: definitions })
  }
  const sample = valuesOf(fields)
  const spoiled = fields.flatMap(({ misfits, name }) => [
    ...misfits.map((misfit) => ({ ...sample, [name]: misfit })),
    Object.fromEntries(Object.entries(sample).filter(([other]) => other !== name))
  ])
  return {
    request: `Write this record as JSON. ${known.flatMap(({ told }) => told ?? []).join(" ")} What is not told you may choose.`,
    schema: JSON.stringify(schema),
    told: valuesOf(known),
    sample: JSON.stringify(sample),
    spoiled: [...spoiled, { ...sample, more: 1 }].map((one) => JSON.stringify(one))
  }
}
