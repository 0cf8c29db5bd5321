/** Errors of a request body, in the form of the original's server (FastAPI, pydantic). */

/** Location in the body: field names and indices, outermost first. */
export type Loc = ReadonlyArray<string | number>

export interface Detail {
  readonly type: string
  readonly loc: Loc
  readonly msg: string
  readonly input: unknown
  readonly ctx?: { readonly [name: string]: unknown }
}

/** Bounds the details: a matrix of invalid numbers is reported by its first ones. */
const maxDetails = 100

/** Collects the errors of one body, and records if a value was coerced. */
export class Report {
  readonly details: Array<Detail> = []
  /** A value was accepted in a non-canonical form (`"100"`, `true`, `1.0` for an integer). */
  coerced = false

  add(type: string, loc: Loc, msg: string, input: unknown, ctx?: Detail["ctx"]): void {
    if (this.details.length < maxDetails) this.details.push({ type, loc, msg, input, ...(ctx && { ctx }) })
  }

  missing(loc: Loc, input: unknown): void {
    this.add("missing", loc, "Field required", input)
  }
}
