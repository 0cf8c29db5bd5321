/** The fields of anything that came as JSON. */
type Fields = { readonly [key: string]: unknown }

/** Whether a value is an object with fields, and no list. */
export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)
