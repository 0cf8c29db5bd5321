/**
 * Generates tasks: a record with some stated fields, to be written as JSON that matches a schema.
 *
 * Stated values must be repeated; other fields may have any valid value. Every field is required and no other allowed,
 * so that an empty object is never enough.
 */
import { definitions, type Field, freeFields, type Json, type Random, toldFields } from "./Fields.ts"

export interface Task {
  readonly request: string
  /** JSON text. */
  readonly schema: string
  /** Stated values that the answer must contain, by field. */
  readonly told: { readonly [field: string]: Json }
  readonly sample: string
  /** Wrong answers, each with one wrong field. */
  readonly spoiled: ReadonlyArray<string>
}

const valuesOf = (fields: ReadonlyArray<Field>): { readonly [name: string]: Json } =>
  Object.fromEntries(fields.map(({ fits, name }) => [name, fits]))

/** Draws a task with one to three stated and two to four free fields. */
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
    request: `Write this record as JSON. ${known.flatMap(({ told: reported }) => reported ?? []).join(" ")} What is not told you may choose.`,
    schema: JSON.stringify(schema),
    told: valuesOf(known),
    sample: JSON.stringify(sample),
    spoiled: [...spoiled, { ...sample, more: 1 }].map((one) => JSON.stringify(one))
  }
}
