/** What is wrong with a request body, in the shape the original's server (FastAPI, pydantic) reports it. */

/** Where in the body: field names and indices, outermost first. */
export type Loc = ReadonlyArray<string | number>

export interface Detail {
  readonly type: string
  readonly loc: Loc
  readonly msg: string
  /** The value found there. */
  readonly input: unknown
  readonly ctx?: { readonly [name: string]: unknown }
}

/** Details are kept up to this number: a matrix of wrong numbers is told by its first ones. */
const maxDetails = 100

/** Collects what is wrong with one body, and whether a value had to be coerced to its type. */
export class Report {
  readonly details: Array<Detail> = []
  /** A value was taken in another form than the canonical one (`"100"`, `true`, `1.0` for an integer). */
  coerced = false

  add(type: string, loc: Loc, msg: string, input: unknown, ctx?: Detail["ctx"]): void {
    if (this.details.length < maxDetails) this.details.push({ type, loc, msg, input, ...(ctx && { ctx }) })
  }

  missing(loc: Loc, input: unknown): void {
    this.add("missing", loc, "Field required", input)
  }
}
